import { errors } from 'jose';
import { compareClocks } from './oidc-person.js';
import { TokenRefusedError } from './token-refused.js';

/**
 * Returns which check of a token failed, in words; undefined when the token was not the reason.
 * @param error what `jose` or `openid-client` threw, or a TokenRefusedError.
 */
export function whyRefused(error: unknown): string | undefined {
  if (error instanceof TokenRefusedError) return error.message;
  if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired) {
    return error.reason === 'check_failed' ? wrong(error.claim) : `its claim "${error.claim}" is ${error.reason}`;
  }
  const code = codeOf(error);
  return byCode[code] ?? wrongInSignIn(error, code);
}

const byCode: Readonly<Record<string, string>> = {
  ERR_JWKS_NO_MATCHING_KEY: 'it is signed with an unknown key: the provider publishes no such key',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'it does not name its key (kid), and the provider publishes several',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'its signature is wrong',
  ERR_JOSE_ALG_NOT_ALLOWED: 'its signature algorithm (alg) is not accepted',
  ERR_JOSE_NOT_SUPPORTED: 'its header asks for something that is not supported',
  ERR_JWS_INVALID: 'it is no signed JWT',
  ERR_JWT_INVALID: 'it is no signed JWT',
};

/** The words for a claim that is there and does not fit. */
function wrong(claim: string): string {
  switch (claim) {
    case 'exp':
      return 'it has expired (exp)';
    case 'nbf':
      return `it is not yet valid (nbf): ${compareClocks}`;
    case 'aud':
      return 'it is for another audience (aud)';
    case 'iss':
      return 'it is from another issuer (iss)';
    default:
      return `its claim "${claim}" is not the expected one`;
  }
}

/** The library of the sign-in names the claim in the cause of the cause of its error. */
function wrongInSignIn(error: unknown, code: string): string | undefined {
  if (code !== 'OAUTH_JWT_CLAIM_COMPARISON_FAILED' && code !== 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED') return undefined;
  const { cause } = error as { readonly cause?: { readonly cause?: { readonly claim?: unknown } } };
  const claim = cause?.cause?.claim;
  return typeof claim === 'string' ? wrong(claim) : undefined;
}

function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}
