import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts with AES-256-GCM. Returns nonce, ciphertext and tag.
 * @param bound is authenticated and not stored: the box opens only where the same text is given.
 */
export function closeBox(key: KeyObject, bound: string, content: string | Uint8Array): Buffer {
  // Random nonces: one key encrypts far fewer than 2^32 boxes.
  const nonce = randomFillSync(Buffer.alloc(nonceBytes));
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(bound));
  const bytes = typeof content === 'string' ? cipher.update(content, 'utf8') : cipher.update(content);
  return Buffer.concat([nonce, bytes, cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts a box. @throws Error when the key, the bound text or a byte of the box is not that of `closeBox`. */
export function openBox(key: KeyObject, bound: string, box: Uint8Array): Buffer {
  if (box.length < nonceBytes + tagBytes) throw new Error('a sealed value is too short');
  const tagAt = box.length - tagBytes;
  // Attack: without the length of the tag, Node accepts a tag of 4 bytes.
  const options = { authTagLength: tagBytes };
  const decipher = createDecipheriv('aes-256-gcm', key, box.subarray(0, nonceBytes), options);
  decipher.setAAD(Buffer.from(bound));
  decipher.setAuthTag(box.subarray(tagAt));
  return Buffer.concat([decipher.update(box.subarray(nonceBytes, tagAt)), decipher.final()]);
}
