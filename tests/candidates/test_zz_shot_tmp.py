import os
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]="1"
import pytest
from tests.conftest import *
from tests.candidates.conftest import *
from annotation.candidates import generate
@pytest.mark.django_db(transaction=True)
def test_shot(asked, tea, cast, live_server, login, fake):
    fake.replies=[Reply("Take **the river path**. 1. Go\n2. Rest"), Reply(status=402, body=b"{}"), Reply("x")]
    a,b,c=generate.request(tea)
    generate.write_one(c.pk); generate.write_one(b.pk)
    client=login(cast.person("Carol"))
    from playwright.sync_api import sync_playwright
    with sync_playwright() as p:
        br=p.chromium.launch(executable_path="/usr/bin/chromium",args=["--no-sandbox"])
        ctx=br.new_context(viewport={"width":1200,"height":900})
        ctx.add_cookies([{"name":"attune-session","value":client.cookies["attune-session"].value,"url":live_server.url}])
        pg=ctx.new_page(); logs=[]
        pg.on("console",lambda m: logs.append(m.text))
        pg.goto(live_server.url+"/studies/tea/candidates/")
        pg.screenshot(path="/tmp/gen/shot.png",full_page=True)
        with pg.expect_response(lambda r: r.url.endswith("/candidates/") and r.request.headers.get("hx-request")=="true",timeout=15000): pass
        generate.write_one(a.pk)
        pg.wait_for_selector("text=2 written answers",timeout=15000)
        print("CONSOLE",logs)
        br.close()
