import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';

/** Keeps a running sign-in in the browser that began it: encrypted, so that the browser neither reads nor changes it. */
export interface SignInSeal {
  /** Returns the sealed text as base64url. */
  readonly seal: (text: string) => string;
  /** Returns the text, or undefined when it was sealed with another key or changed. */
  readonly open: (sealed: string) => string | undefined;
}

const [algorithm, keyBytes, ivBytes, tagBytes] = ['aes-256-gcm', 32, 12, 16] as const;

/**
 * A seal with a key derived from `secret`. Two processes with the same secret open each other's seals.
 * @param randomBytes makes the initialization vectors.
 */
export function createSignInSeal(secret: Uint8Array, randomBytes: (count: number) => Uint8Array): SignInSeal {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', 'countersign sign-in cookie', keyBytes));
  return {
    seal: (text) => {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv(algorithm, key, iv);
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url');
    },
    open: (sealed) => {
      const bytes = Buffer.from(sealed, 'base64url');
      // Attack: another text of the same bytes.
      if (bytes.length < ivBytes + tagBytes || bytes.toString('base64url') !== sealed) return undefined;
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
      decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
      try {
        return decipher.update(bytes.subarray(ivBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8');
      } catch {
        return undefined;
      }
    },
  };
}
