import { X509Certificate } from 'node:crypto';

const certificateForm = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Reads the certificates of a PEM file: the authorities whose time stamps are trusted. Undefined where there is none, or one cannot be
 * read, or one is of no authority.
 */
export function readRoots(pem: string): readonly X509Certificate[] | undefined {
  try {
    const roots = (pem.match(certificateForm) ?? []).map((text) => new X509Certificate(text));
    return roots.length > 0 && roots.every(({ ca }) => ca) ? roots : undefined;
  } catch {
    return undefined;
  }
}
