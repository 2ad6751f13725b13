/** The answer of a route. */
export interface CapturedAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** A response of Node's server, as far as it is read here. Methods, so that the types of each framework fit. */
export interface NodeResponse {
  statusCode: number;
  writeHead(status: number, ...headers: unknown[]): unknown;
  write(chunk: unknown, ...more: unknown[]): boolean;
  end(...chunk: unknown[]): unknown;
  getHeader(name: string): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/** Reads along what a route writes. Resolves at its end; rejects when the connection closes before. */
export function captureAnswer(response: NodeResponse): Promise<CapturedAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let contentType: string | undefined;
    const writeHead = response.writeHead.bind(response);
    const write = response.write.bind(response);
    const end = response.end.bind(response);
    response.writeHead = (status, ...headers) => {
      contentType ??= headers.map(contentTypeIn).find((type) => type !== undefined);
      return writeHead(status, ...headers);
    };
    response.write = (chunk, ...more) => {
      chunks.push(bytesOf(chunk, more[0]));
      return write(chunk, ...more);
    };
    response.end = (...given) => {
      chunks.push(bytesOf(given[0], given[1]));
      const returned = end(...given);
      const type = contentType ?? response.getHeader('content-type');
      const named = typeof type === 'string' ? type : 'application/octet-stream';
      resolve({ status: response.statusCode, contentType: named, body: concatenated(chunks) });
      return returned;
    };
    response.once('close', () => {
      reject(new Error('the connection closed before the tool had answered'));
    });
  });
}

/** Headers are an object, a list of pairs, or a list of names and values in turn. */
function contentTypeIn(headers: unknown): string | undefined {
  if (typeof headers !== 'object' || headers === null) return undefined;
  const list: readonly unknown[] = Array.isArray(headers) ? headers.flat() : Object.entries(headers).flat();
  const place = list.findIndex((name) => typeof name === 'string' && name.toLowerCase() === 'content-type');
  const value = place < 0 ? undefined : list[place + 1];
  return typeof value === 'string' ? value : undefined;
}

function bytesOf(chunk: unknown, encoding: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (typeof chunk !== 'string') return new Uint8Array();
  const isByCharacter = encoding === 'latin1' || encoding === 'binary';
  return isByCharacter ? Uint8Array.from(chunk, (unit) => unit.charCodeAt(0)) : new TextEncoder().encode(chunk);
}

function concatenated(chunks: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
