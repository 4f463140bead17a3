from tests.security.test_browser import *
from tests.security.test_browser import browser, open_page
import pytest
@pytest.mark.django_db
def test_x(world, browser, live_server):
    ctx=browser.new_context(base_url=live_server.url); ctx.add_cookies([{"name": site.SESSION_COOKIE_NAME,"value":world.sessions["ann"],"url":live_server.url}])
    p=ctx.new_page(); p.on("console", lambda m: print("CONSOLE",m.type,m.text,m.location)); p.on("request", lambda r: print("REQ",r.url[:100]))
    p.goto("/api/docs/"); p.locator(".opblock").first.wait_for(); p.locator(".opblock-summary-control").first.click(); p.wait_for_timeout(1500); ctx.close()
