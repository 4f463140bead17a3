from tests.security.test_routes import ROUTES, METHODS
from tests.security.conftest import *
from django.urls import reverse
def test_probe(world):
    for n in sorted(ROUTES):
        if not n.startswith('account_'): continue
        args={'account_confirm_email':{'key':'x'},'account_reset_password_from_key':{'uidb36':'1','key':'set-password'}}.get(n,{})
        for role in ('anonymous','ann'):
            out=[]
            for m in METHODS:
                try:
                    r=world.browser(role).generic(m,reverse(n,kwargs=args))
                    out.append(f'{m}={r.status_code}'+(f'>{r.url[:40]}' if r.status_code==302 else ''))
                except Exception as e: out.append(f'{m} {e!r}'[:60])
            print(n,role,*out)
