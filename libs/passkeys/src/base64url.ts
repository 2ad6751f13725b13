/**
 * The bytes of a base64url text; undefined for another text, also for one that other bits write too. Attack: an event that
 * is changed and still means the same.
 */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> | undefined {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64url'));
  return Buffer.from(bytes).toString('base64url') === text ? bytes : undefined;
}
