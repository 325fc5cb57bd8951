"""How the instructions are shown."""

from annotation.web.base.markdown import render_markdown


def test_instructions_are_markdown_without_html_pictures_or_dangerous_links() -> None:
    shown = render_markdown(
        "# Rules\n\n<script>x</script> **same** ![p](http://e.example/p.png)"
        " [a](javascript:alert(1)) [b](https://b.example)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    assert "<h2>Rules</h2>" in shown
    assert "<strong>same</strong>" in shown
    assert "<table>" in shown
    assert "&lt;script&gt;" in shown
    assert "<img" not in shown
    assert 'href="javascript' not in shown
    assert '<a href="https://b.example" target="_blank" rel="noopener noreferrer">' in shown
