/** A response that was not read, or not to its end. A retry would get the same one. */
export class RefusedResponseError extends Error {
  override readonly name: string = 'RefusedResponseError';
}

/** The largest response that is read whole. Countersign's own stay far below it. */
export const answerBytesMax = 64 * 2 ** 20;

/** The text of a response. The attack: a hostile server sends without end. @throws RefusedResponseError beyond `bytesMax`. */
export async function boundedText(response: Response, bytesMax: number = answerBytesMax): Promise<string> {
  const body: ReadableStream<Uint8Array> | null = response.body;
  const reader = body?.getReader();
  if (reader === undefined) return '';
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > bytesMax) {
      // A connection that is broken by now is of no interest.
      reader.cancel().catch(() => undefined);
      throw new RefusedResponseError(
        `the response is larger than ${String(bytesMax)} bytes, and was not read to its end`,
      );
    }
    text += decoder.decode(value, { stream: true });
  }
}
