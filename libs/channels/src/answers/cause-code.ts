const codePattern = /^[A-Z][A-Z0-9_]{2,60}$/;
const depthMax = 6;

/**
 * Returns the code of the error below an error of a vendor's client, such as `ENOTFOUND` or `CERT_HAS_EXPIRED`; undefined
 * when there is none. Only the code: the message may have the url, and that can have a secret in it.
 */
export function causeCodeOf(error: unknown): string | undefined {
  let at = error;
  for (let depth = 0; depth < depthMax && typeof at === 'object' && at !== null; depth += 1) {
    const { code, cause, original, error: inner } = at as Readonly<Record<string, unknown>>;
    if (typeof code === 'string' && codePattern.test(code)) return code;
    at = cause ?? original ?? inner;
  }
  return undefined;
}

/** The words for a vendor that could not be asked, or whose response could not be read. */
export function noAnswerWords(vendor: string, error: unknown): string {
  const code = causeCodeOf(error);
  return code === undefined ? `${vendor} does not respond` : `${vendor} does not respond (${code})`;
}

/** The words for a response that the vendor's API does not have: a proxy's, a captive portal's, or another server's. */
export function otherFormWords(vendor: string): string {
  return `${vendor} answers in another form than its API: check apiUrl`;
}
