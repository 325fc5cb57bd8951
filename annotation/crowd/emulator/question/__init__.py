"""The questions of MTurk, without a server: XML from requesters, pages for workers, answers back.

`document` reads XML that nobody trusts and holds it to `questions.xsd`; `form` makes a
QuestionForm a small tree, `render` shows it, `answers` checks what was entered and writes
QuestionFormAnswers, `answer_key` grades it; `html_page` prepares an HTMLQuestion for its frame.
"""
