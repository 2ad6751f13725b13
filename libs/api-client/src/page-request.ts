/**
 * Returns whether a request is from a page of this application. Browsers say so in `Sec-Fetch-Site`, which no page can set; old
 * ones have `Origin` alone. A read without both is of a program, which has no cookies of a person.
 *
 * Attack: a page of another site, also of a sub-domain, sends a decision with the cookies of the person.
 */
export function isOfOwnPage(request: Request, origins: readonly string[] | undefined): boolean {
  const { method, headers, url } = request;
  const origin = headers.get('origin');
  const site = headers.get('sec-fetch-site');
  if (origin !== null && origins !== undefined) return origins.includes(origin);
  if (site !== null) return site === 'same-origin';
  return origin === null ? method === 'GET' : origin === new URL(url).origin;
}

/** The JSON text of a request; null for another type, which a form of a foreign page could send, and for too many bytes. */
export async function bodyOf(request: Request, bytesMax: number): Promise<string | null> {
  const type = request.headers.get('content-type');
  if (request.body === null) return '';
  if (type === null || !/^application\/json\s*(?:;|$)/i.test(type)) return null;
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of request.body) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return null;
    chunks.push(chunk);
  }
  return new Blob(chunks).text();
}
