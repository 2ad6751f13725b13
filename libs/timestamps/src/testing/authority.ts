import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** An answer that an honest authority would not give. */
export interface Forgery {
  /** Who signs. `web`: a certificate for web servers; `ended`: one that is no longer valid; `plain`: one without a purpose. */
  readonly signer?: 'web' | 'ended' | 'plain' | 'stamps' | 'rsa';
  readonly hash?: 'sha1' | 'sha256' | 'sha512';
  /** Without the attribute that names the certificate of the signer. */
  readonly isAnonymous?: boolean;
}

/** A time stamping authority: OpenSSL with a root of its own. */
export interface Authority {
  /** The certificate of the root, as PEM and as a file. */
  readonly root: string;
  readonly rootFile: string;
  readonly folder: string;
  /** The answer to a query. */
  readonly answer: (query: Uint8Array, signer?: 'stamps' | 'rsa') => Buffer;
  /** The same time stamp, signed in another way. */
  readonly forge: (query: Uint8Array, forgery: Forgery) => Buffer;
  /** A query for the SHA-1 of a text. */
  readonly weakQuery: (text: string) => Buffer;
  /** What OpenSSL says of an answer; throws where it does not verify. */
  readonly verify: (answer: Uint8Array, text: string) => string;
  readonly remove: () => void;
}

const settings = (folder: string): string => `
[req]
distinguished_name = dn
prompt = no
[dn]
CN = unused
[root]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign,cRLSign
[middle]
basicConstraints = critical,CA:true,pathlen:0
keyUsage = critical,keyCertSign
[stamps]
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping
[web]
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth
[plain]
keyUsage = critical,digitalSignature
[ca]
default_ca = issuing
[issuing]
database = ${join(folder, 'index.txt')}
serial = ${join(folder, 'issued')}
new_certs_dir = ${folder}
default_md = sha256
policy = anything
unique_subject = no
[anything]
commonName = supplied
[tsa]
default_tsa = stamping
[stamping]
serial = ${join(folder, 'stamped')}
signer_digest = sha256
default_policy = 1.3.6.1.4.1.32473.1
digests = sha256, sha1
accuracy = secs:1
`;

/** Makes a root, an authority between, and the certificates of signers. It takes a second. */
export function makeAuthority(name = 'Test'): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'timestamps-'));
  const at = (file: string): string => join(folder, file);
  const openssl = (...args: string[]): Buffer =>
    execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  writeFileSync(at('settings'), settings(folder));
  for (const [file, text] of Object.entries({ 'index.txt': '', issued: '1000', stamped: '01' })) {
    writeFileSync(at(file), text);
  }
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
  const config = ['-config', 'settings'];
  const issue = (of: string, issuer: string, extensions = of, key = ec, valid = ['-days', '3650']): void => {
    const subject = `/CN=${name} ${of}`;
    openssl('req', ...key, '-nodes', '-keyout', `${of}.key`, '-out', `${of}.csr`, '-subj', subject, ...config);
    const by = ['-cert', `${issuer}.crt`, '-keyfile', `${issuer}.key`];
    const out = ['-in', `${of}.csr`, '-out', `${of}.crt`, '-extensions', extensions, '-notext', '-batch'];
    openssl('ca', ...config, ...by, ...out, ...valid);
  };
  const ended = ['-startdate', '20200101000000Z', '-enddate', '20210101000000Z'];
  openssl(
    ...['req', '-x509', ...ec, '-nodes', '-keyout', 'root.key', '-out', 'root.crt', '-days', '3650'],
    ...['-subj', `/CN=${name} root`, ...config, '-extensions', 'root'],
  );
  issue('middle', 'root');
  issue('stamps', 'middle');
  issue('rsa', 'middle', 'stamps', ['-newkey', 'rsa:2048']);
  issue('web', 'middle');
  issue('plain', 'middle');
  issue('ended', 'middle', 'stamps', ec, ended);
  const answer: Authority['answer'] = (query, signer = 'stamps') => {
    writeFileSync(at('query'), query);
    const by = ['-inkey', `${signer}.key`, '-signer', `${signer}.crt`, '-chain', 'middle.crt'];
    openssl('ts', '-reply', '-queryfile', 'query', ...by, ...config, '-out', 'answer');
    return readFileSync(at('answer'));
  };
  return {
    ...{ folder, answer, root: readFileSync(at('root.crt'), 'utf8'), rootFile: at('root.crt') },
    forge: (query, { signer = 'stamps', hash = 'sha256', isAnonymous = false }) => {
      writeFileSync(at('honest'), answer(query));
      openssl('ts', '-reply', '-in', 'honest', '-token_out', '-out', 'token');
      openssl('cms', '-verify', '-noverify', '-inform', 'DER', '-in', 'token', '-out', 'info');
      const form = ['-binary', '-nodetach', '-outform', 'DER', '-econtent_type', '1.2.840.113549.1.9.16.1.4'];
      const by = ['-signer', `${signer}.crt`, '-inkey', `${signer}.key`, '-certfile', 'middle.crt', '-md', hash];
      openssl('cms', '-sign', '-in', 'info', '-out', 'signed', ...form, ...by, ...(isAnonymous ? [] : ['-cades']));
      return granted(readFileSync(at('signed')));
    },
    weakQuery: (text) => {
      writeFileSync(at('text'), text);
      openssl('ts', '-query', '-data', 'text', '-sha1', '-cert', '-out', 'weak');
      return readFileSync(at('weak'));
    },
    verify: (given, text) => {
      writeFileSync(at('given'), given);
      writeFileSync(at('text'), text);
      return openssl('ts', '-verify', '-in', 'given', '-data', 'text', '-CAfile', 'root.crt').toString();
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** An answer that grants a time stamp. */
function granted(token: Uint8Array): Buffer {
  const status = Buffer.from([0x30, 0x03, 0x02, 0x01, 0x00]);
  const length = status.length + token.length;
  return Buffer.concat([Buffer.from([0x30, 0x82, length >> 8, length & 0xff]), status, token]);
}
