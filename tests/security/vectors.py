"""Hostile texts, composed: what they try to do, wrapped into what Markdown could carry."""

import itertools

# A script that runs shows itself; nothing of these addresses may ever be asked for.
FOREIGN = "foreign.invalid"
RUN = "alert(1)"

RAW_HTML = [
    f"<script>{RUN}</script>",
    f"<SCRIPT src=https://{FOREIGN}/x.js></SCRIPT>",
    f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    f"<script\x0c>{RUN}</script\x0c>",
    f"<img src=x onerror={RUN}>",
    f"<img/src=`x`onerror={RUN}>",
    f"<IMG SRC=x OnErRoR={RUN}//",
    f"<img src=https://{FOREIGN}/pixel.png>",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<svg><a xlink:href='javascript:{RUN}'><text y=9>x</text></a></svg>",
    f"<svg><use href='https://{FOREIGN}/x.svg#a'/></svg>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={RUN}>",
    f"<math href='javascript:{RUN}'>x</math>",
    f"<iframe src='javascript:{RUN}'></iframe>",
    f"<iframe srcdoc='<script>{RUN}</script>'></iframe>",
    f"<object data='data:text/html,<script>{RUN}</script>'></object>",
    f"<embed src='https://{FOREIGN}/x.swf'>",
    f"<video><source onerror={RUN}></video>",
    f"<audio src=x onerror={RUN}>",
    f"<details open ontoggle={RUN}>x</details>",
    f"<body onload={RUN}>",
    f"<input autofocus onfocus={RUN}>",
    f"<marquee onstart={RUN}>x</marquee>",
    f"<form action='https://{FOREIGN}/'><button>x</button></form>",
    f"<button formaction='javascript:{RUN}'>x</button>",
    f"<base href='https://{FOREIGN}/'>",
    f"<meta http-equiv=refresh content='0;url=https://{FOREIGN}/'>",
    f"<link rel=stylesheet href='https://{FOREIGN}/x.css'>",
    f"<style>@import url(https://{FOREIGN}/x.css);</style>",
    f"<p style='background:url(https://{FOREIGN}/x.png)'>x</p>",
    "<p style='position:fixed;inset:0' class=secret id=main name=body>x</p>",
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"<template><script>{RUN}</script></template>",
    f"<textarea></textarea><script>{RUN}</script>",
    f"</textarea><script>{RUN}</script>",
    f"</title><script>{RUN}</script>",
    f"<!--><script>{RUN}</script>-->",
    f"<![CDATA[<script>{RUN}</script>]]>",
    f"<?xml version='1.0'?><x onclick={RUN}>",
    f"<x onclick={RUN} tabindex=1 contenteditable>x</x>",
    "<div hx-get='/tokens/' hx-trigger='load'>x</div>",
    "<div data-hx-post='/tokens/' data-hx-trigger='load' data-hx-vals='{\"days\": 1}'>x</div>",
    f"<div hx-on:load='{RUN}' hx-on--after-request='{RUN}'>x</div>",
    "<div id=judge hx-swap-oob='true'>replaced</div>",
    "<main id='main' hx-swap-oob='outerHTML'>replaced</main>",
    "<div hx-ext='x' hx-boost=true hx-include='*'>x</div>",
    f'" onmouseover="{RUN}" x="',
    f"' autofocus onfocus='{RUN}",
    f"{{{{ {RUN} }}}} {{% include 'base.html' %}} ${{{RUN}}}",
    f"<a href='javascript:{RUN}'>x</a>",
    "<a href=x target=_top ping=https://foreign.invalid/>x</a>",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"&#60;script&#62;{RUN}&#60;/script&#62;",
    f"\\<script\\>{RUN}\\</script\\>",
    f"<\u200bscript>{RUN}</script>",
    f"\ufeff<script>{RUN}</script>",
    "\u202etxet desrever\u202c \u2066isolated\u2069 \u200f",
    f"\u2028<script>\u2029{RUN}</script>",
]

ADDRESSES = [
    f"javascript:{RUN}",
    f"JaVaScRiPt:{RUN}",
    f"java&#x73;cript:{RUN}",
    f"&#106;&#97;&#118;&#97;script:{RUN}",
    f"javascript&colon;{RUN}",
    f"java&Tab;script:{RUN}",
    f"java&NewLine;script:{RUN}",
    f"java\tscript:{RUN}",
    f"java%0ascript:{RUN}",
    f"\x01javascript:{RUN}",
    f"%6Aavascript:{RUN}",
    f"vbscript:msgbox({RUN})",
    f"data:text/html,<script>{RUN}</script>",
    "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==",
    "data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+",
    f"data:image/png,{RUN}",
    "file:///etc/passwd",
    "blob:https://foreign.invalid/1",
    f"view-source:javascript:{RUN}",
    f"feed:javascript:{RUN}",
    f"https://{FOREIGN}/pixel.png",
    f"//{FOREIGN}/pixel.png",
    f"\\\\{FOREIGN}\\pixel.png",
    f'https://{FOREIGN}/"onmouseover="{RUN}',
]

CARRIERS = [
    "[x]({})",
    "[x](<{}>)",
    '[x]({} "title")',
    "![x]({})",
    '![x](<{}> "\'onerror=alert(1)")',
    "[![x]({})]({})",
    "<{}>",
    "[x]: {}\n\n[x]",
    "![x][r]\n\n[r]: {}",
    "| a |\n|---|\n| [x]({}) |",
    "> [x]({})",
    "[x](\n{}\n)",
    "[x]({}",
]

BROKEN = [
    "```<script>alert(1)</script>\nx",
    "```html onclick=alert(1)\n<script>alert(1)</script>\n```",
    "```{.x onclick=alert(1) #main}\nx\n```",
    '~~~"><img src=x onerror=alert(1)>\nx\n~~~',
    "`<script>alert(1)</script>`",
    "`` ` <img src=x onerror=alert(1)> ``",
    "    <script>alert(1)</script>",
    '[x](/ok "\\"onmouseover=alert(1)")',
    "[x](/ok '\"><script>alert(1)</script>')",
    '[x](/ok ("onclick="alert(1)))',
    '<https://ok.example/?a="onclick=alert(1)>',
    '<a@b.example?"onclick=alert(1)>',
    '<mailto:a@b.example"onclick=alert(1)>',
    "# <img src=x onerror=alert(1)> {#main onclick=alert(1)}",
    "1e99. list\n999999999. list\n-1. list",
    '3" onclick="alert(1). list',
    "- [ ] <input type=checkbox onclick=alert(1)>",
    "[^1]\n\n[^1]: <script>alert(1)</script>",
    "$$\\href{javascript:alert(1)}{x}$$ \\(\\unicode{<img src=x onerror=alert(1)>}\\)",
    ":::html\n<script>alert(1)</script>\n:::",
    "| <script> | onclick=alert(1) |\n|:--|--:|\n| </td><script>alert(1)</script> | x |",
    "|a\n|-\n|`|`<img src=x onerror=alert(1)>",
    "*<img src=x onerror=alert(1)>* **<svg onload=alert(1)>** ~~<x onclick=alert(1)>~~",
    "<" * 150 + "script>alert(1)</script>",
    "[" * 150 + "x](javascript:alert(1))",
    "\x00<scr\x00ipt>alert(1)</script>",
    "\ud800<script>alert(1)</script>\udfff",
    "<script>" + "\n" * 50 + "alert(1)",
    "&" * 100 + "#x3c;script&#x3e;",
    "</div></main></body><script>alert(1)</script>",
    "<!-- [if IE]><script>alert(1)</script><![endif]-->",
    "\r<script>\ralert(1)\r</script>",
]


def corpus() -> list[str]:
    """Over 500 hostile texts, each once."""
    carried = [
        carrier.replace("{}", address)
        for carrier, address in itertools.product(CARRIERS, ADDRESSES)
    ]
    wrapped = [
        wrapper.replace("{}", html)
        for wrapper in ("> {}", "- a\n\n  {}", "| a |\n|---|\n| {} |", "**{}**", "[{}](/ok)")
        for html in RAW_HTML
    ]
    return list(dict.fromkeys([*RAW_HTML, *BROKEN, *carried, *wrapped]))


def selection() -> list[str]:
    """A few of each sort, for a real browser; without what PostgreSQL cannot hold."""
    chosen = [
        *RAW_HTML[:46],
        *BROKEN[:24],
        *(
            CARRIERS[n].replace("{}", ADDRESSES[m])
            for n, m in [(0, 0), (3, 20), (4, 20), (8, 20), (6, 0), (0, 12), (3, 12), (5, 21)]
        ),
    ]
    return [text.replace("\x00", "") for text in chosen]
