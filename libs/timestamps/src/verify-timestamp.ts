import type { X509Certificate } from 'node:crypto';
import { AsnConvert } from '@peculiar/asn1-schema';
import type { IssuerAndSerialNumber } from '@peculiar/asn1-cms';
import { id_ct_tstInfo } from '@peculiar/asn1-tsp';
import { Certificate } from '@peculiar/asn1-x509';
import { demandSignature, digestOf, hashNamed, sha256 } from './algorithms.js';
import { demandPath, demandSigner, nameOf, readCertificates } from './certificates.js';
import { integerOf } from './query.js';
import { demand, Refused } from './refused.js';
import { readSignedAttributes } from './signed-attributes.js';
import { readToken } from './token.js';
import type { Token } from './token.js';

/** What a time stamp must be of. */
export interface ExpectedTimestamp {
  readonly text: string;
  /** That of the query. Absent: it is not compared. */
  readonly nonce?: Uint8Array;
  /** The authorities that are trusted. Absent: the signer may be anybody. */
  readonly roots?: readonly X509Certificate[] | undefined;
}

/** A time stamp that holds, or why it does not. */
export type VerifiedTimestamp =
  | { readonly status: 'verified'; readonly time: Date; readonly signer: string }
  | { readonly status: 'refused'; readonly why: string };

/** An answer has less, also with several certificates. */
export const timestampBytesMax = 64 * 1024;

/**
 * Verifies an answer of RFC 3161: that it was granted, its imprint, its nonce, the signature, the certificate that the signature names, and
 * that this was one for time stamps and valid at the time. With roots it must lead to one of them. Revocation is not checked.
 */
export function verifyTimestamp(reply: Uint8Array, expected: ExpectedTimestamp): VerifiedTimestamp {
  try {
    demand(reply.length <= timestampBytesMax, 'it is too long');
    const token = readToken(reply);
    demandImprint(token, expected);
    const certificates = readCertificates(token.certificates);
    const signer = signerOf(token, certificates);
    const time = token.info.genTime;
    demand(!Number.isNaN(time.getTime()), 'it has no time');
    demandSigner(signer, time);
    if (expected.roots !== undefined) demandPath(signer, certificates, expected.roots, time);
    return { status: 'verified', time, signer: nameOf(signer) };
  } catch (error) {
    if (error instanceof Refused) return { status: 'refused', why: error.message };
    return { status: 'refused', why: 'it is no answer of a time stamping authority' };
  }
}

function demandImprint({ info }: Token, { text, nonce }: ExpectedTimestamp): void {
  const { hashAlgorithm, hashedMessage } = info.messageImprint;
  const isSame = digestOf('sha256', Buffer.from(text)).equals(new Uint8Array(hashedMessage.buffer));
  demand(hashAlgorithm.algorithm === sha256 && isSame, 'it is of another text');
  if (nonce === undefined) return;
  const isAnswer = info.nonce !== undefined && Buffer.from(info.nonce).equals(integerOf(nonce));
  demand(isAnswer, 'it has another nonce: it answers another request');
}

/** The certificate whose key signed. @throws Refused where none in the answer did */
function signerOf(token: Token, certificates: readonly X509Certificate[]): X509Certificate {
  const { content, signer } = token;
  const attributes = readSignedAttributes(token);
  const hash = hashNamed(signer.digestAlgorithm);
  const isOfContent = digestOf(hash, content).equals(attributes.messageDigest);
  demand(attributes.contentType === id_ct_tstInfo && isOfContent, 'its signature does not cover its content');
  const certificate = certificates.find(({ raw }) => attributes.isSigner(raw));
  demand(certificate !== undefined, 'it has no certificate that its signature names');
  const { issuerAndSerialNumber } = signer.sid;
  demand(issuerAndSerialNumber === undefined || isNamed(certificate, issuerAndSerialNumber), 'it names two signers');
  const signature = new Uint8Array(signer.signature.buffer);
  demandSignature(signer.signatureAlgorithm, hash, {
    key: certificate.publicKey,
    signed: attributes.signed,
    signature,
  });
  return certificate;
}

function isNamed({ raw }: X509Certificate, { issuer, serialNumber }: IssuerAndSerialNumber): boolean {
  const { tbsCertificate } = AsnConvert.parse(Uint8Array.from(raw), Certificate);
  const isSerial = Buffer.from(tbsCertificate.serialNumber).equals(Buffer.from(serialNumber));
  return (
    isSerial &&
    Buffer.from(AsnConvert.serialize(issuer)).equals(Buffer.from(AsnConvert.serialize(tbsCertificate.issuer)))
  );
}
