import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A certificate authority for one test, deleted with its folder. */
export interface Authority {
  /** Its certificate as PEM, and the file of it. */
  readonly ca: string;
  readonly caFile: string;
  /** Makes a key and a certificate for this name. Default of the addresses: 127.0.0.1 and localhost. */
  readonly certify: (name: string, addresses?: string) => { readonly cert: string; readonly key: string };
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** Makes an authority in a folder, with openssl. */
export function createAuthority(folder: string, authority = 'authority'): Authority {
  const openssl = (...args: readonly string[]): void =>
    void execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const file = (name: string): string => join(folder, name);
  const [caKey, caFile] = [file(`${authority}.key`), file(`${authority}.pem`)];
  openssl('req', '-x509', ...newKey, '-days', '2', '-subj', `/CN=${authority}`, '-keyout', caKey, '-out', caFile);
  return {
    ca: readFileSync(caFile, 'utf8'),
    caFile,
    certify: (name, addresses = 'IP:127.0.0.1,DNS:localhost') => {
      const [key, request, cert, extension] = ['key', 'csr', 'pem', 'ext'].map((end) =>
        file(`${authority}-${name}.${end}`),
      ) as [string, string, string, string];
      writeFileSync(extension, `subjectAltName=${addresses}\n`);
      openssl('req', ...newKey, '-subj', `/CN=${name}`, '-keyout', key, '-out', request);
      const signer = ['-CA', caFile, '-CAkey', caKey, '-CAcreateserial', '-extfile', extension];
      openssl('x509', '-req', '-in', request, ...signer, '-days', '2', '-out', cert);
      return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
    },
  };
}
