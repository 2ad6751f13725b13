import { hash } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SignJWT, exportJWK, generateKeyPair } from 'jose';

/** The claims of a provider's token, and its signing key. */
export interface Said {
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Signs with a key that it has not published. */
  readonly isForged?: boolean;
  /** Leaves the signature empty. */
  readonly isUnsigned?: boolean;
  /** The `typ` of the header; by default none. */
  readonly type?: string;
  /** The `kid` of the header; by default that of the published key. */
  readonly keyId?: string;
}

/** An OpenID Connect provider that keeps the rules, but for what a spec makes it say. */
export interface OidcProvider {
  readonly issuer: string;
  /** Claims that replace the true ones in the next ID tokens; `null` removes one. */
  lie: Said | null;
  /** Its keys cannot be read: status 500. */
  areKeysDown: boolean;
  /** Signs a token. */
  readonly sign: (claims: Readonly<Record<string, unknown>>, said?: Said) => Promise<string>;
  readonly publicKey: () => Promise<object>;
  /** Publishes another key of this id in place of the one before, and signs with it. */
  readonly rotate: (keyId: string) => Promise<void>;
  /** How often its keys were read. */
  readonly keyReads: () => number;
  readonly close: () => Promise<void>;
}

interface Grant {
  readonly clientId: string;
  readonly nonce: string;
  readonly challenge: string;
}

let firstKeys: ReturnType<typeof makeKeys> | undefined;

/** The keys of all providers of a spec: making a pair takes a tenth of a second. */
function makeKeys() {
  return Promise.all([generateKeyPair('RS256'), generateKeyPair('RS256')]);
}

/** Starts it. Every visitor is `alice`, with the roles `approver` and `root`. */
export async function openOidcProvider(): Promise<OidcProvider> {
  const [published, otherKeys] = await (firstKeys ??= makeKeys());
  let keys = published;
  let currentId = 'one';
  let keyReads = 0;
  const grants = new Map<string, Grant>();
  const publicKey = async () => ({ ...(await exportJWK(keys.publicKey)), kid: currentId, alg: 'RS256', use: 'sig' });

  const sign: OidcProvider['sign'] = async (
    claims,
    { isForged = false, isUnsigned = false, type, keyId = currentId } = {},
  ) => {
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: keyId, ...(type !== undefined && { typ: type }) })
      .sign(isForged ? otherKeys.privateKey : keys.privateKey);
    const [, body] = token.split('.');
    return isUnsigned ? `${encoded({ alg: 'none' })}.${body ?? ''}.` : token;
  };
  const authorize = (query: URLSearchParams, response: ServerResponse): void => {
    const code = `code-${String(grants.size + 1)}`;
    const of = (name: string) => query.get(name) ?? '';
    grants.set(code, { clientId: of('client_id'), nonce: of('nonce'), challenge: of('code_challenge') });
    const back = new URL(of('redirect_uri'));
    for (const [name, value] of Object.entries({ code, state: of('state'), iss: provider.issuer })) {
      back.searchParams.set(name, value);
    }
    response.writeHead(302, { location: back.href }).end();
  };
  const exchange = async (form: URLSearchParams, response: ServerResponse): Promise<void> => {
    const code = form.get('code') ?? '';
    const grant = grants.get(code);
    const verifier = form.get('code_verifier') ?? '';
    // Single use, and only for the one who asked.
    if (grant === undefined || hash('sha256', verifier, 'base64url') !== grant.challenge) {
      json(response, 400, { error: 'invalid_grant' });
      return;
    }
    grants.set(code, { ...grant, challenge: 'used' });
    const now = Math.floor(Date.now() / 1000);
    const truth = { iss: provider.issuer, aud: grant.clientId, sub: 'alice', nonce: grant.nonce, iat: now };
    const claims = { ...truth, exp: now + 60, roles: ['approver', 'root'], groups: ['ops'], ...provider.lie?.claims };
    json(response, 200, {
      access_token: 'opaque',
      token_type: 'bearer',
      ...(provider.lie !== null && { id_token: await sign(claims, provider.lie) }),
    });
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '/', provider.issuer);
    if (pathname === '/authorize') authorize(searchParams, response);
    else if (pathname === '/token') await exchange(new URLSearchParams(await text(request)), response);
    else if (pathname === '/keys') {
      keyReads += 1;
      json(response, provider.areKeysDown ? 500 : 200, { keys: [await publicKey()] });
    } else json(response, 200, metadataOf(provider.issuer));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const provider: OidcProvider = {
    issuer: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    lie: {},
    areKeysDown: false,
    sign,
    publicKey,
    rotate: async (keyId) => {
      keys = await generateKeyPair('RS256');
      currentId = keyId;
    },
    keyReads: () => keyReads,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
  return provider;
}

/** Discovery. */
function metadataOf(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  };
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
