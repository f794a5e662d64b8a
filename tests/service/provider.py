"""A small provider of identities for tests: a real server with real signatures, which can be told to misbehave."""

import base64
import hashlib
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "discreet", "the secret of the client"


class Provider:
    """Signs in whoever it is told to; `claims` and `key` change what it signs, and by what."""

    def __init__(self):
        self.key = self.published = RSAKey.generate_key(2048, {"kid": "1", "use": "sig", "alg": "RS256"})
        self.claims, self.codes = {}, {}
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                provider.get(self)

            def do_POST(self):
                provider.token(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def get(self, request):
        parts = urlsplit(request.path)
        if parts.path == "/.well-known/openid-configuration":
            self.say(request, {
                "issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token", "jwks_uri": f"{self.issuer}/jwks",
                "id_token_signing_alg_values_supported": ["RS256"], "response_types_supported": ["code"],
            })  # fmt: skip
        elif parts.path == "/jwks":
            self.say(request, {"keys": [self.published.as_dict(private=False)]})
        else:
            asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
            assert asked["client_id"] == CLIENT
            assert asked["code_challenge_method"] == "S256"
            code = secrets.token_urlsafe(16)
            self.codes[code] = asked
            request.send_response(302)
            back = urlencode({"code": code, "state": asked["state"]})
            request.send_header("Location", f"{asked['redirect_uri']}?{back}")
            request.end_headers()

    def token(self, request):
        body = request.rfile.read(int(request.headers["Content-Length"])).decode()
        sent = {name: values[0] for name, values in parse_qs(body).items()}
        given = base64.b64decode(request.headers.get("Authorization", "Basic ").split()[-1]).decode()
        asked = self.codes.pop(sent.get("code"), None)
        verifier = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).decode().rstrip("=")
        if (
            asked is None
            or SECRET not in given.replace("+", " ").replace("%20", " ")
            or challenge != asked["code_challenge"]
        ):
            self.say(request, {"error": "invalid_grant"}, 400)
            return
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "sub": "1", "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        token = jwt.encode({"alg": "RS256", "kid": "1"}, claims | self.claims, self.key)
        self.say(request, {"access_token": "x", "token_type": "Bearer", "id_token": token})

    @staticmethod
    def say(request, body, status=200):
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.end_headers()
        request.wfile.write(json.dumps(body).encode())
