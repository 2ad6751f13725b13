import { AsnConvert } from '@peculiar/asn1-schema';
import { AlgorithmIdentifier } from '@peculiar/asn1-x509';
import { fromBER, ObjectIdentifier, OctetString, Sequence } from 'asn1js';
import { digestOf, hashNamed } from './algorithms.js';
import { demand } from './refused.js';
import { membersOf } from './token.js';
import type { Token } from './token.js';

const contentType = '1.2.840.113549.1.9.3';
const messageDigest = '1.2.840.113549.1.9.4';
const signingCertificate = '1.2.840.113549.1.9.16.2.12';
const signingCertificateV2 = '1.2.840.113549.1.9.16.2.47';

/** What a signature covers besides its content. */
export interface SignedAttributes {
  /** The bytes that are signed. */
  readonly signed: Uint8Array;
  readonly contentType: string;
  readonly messageDigest: Uint8Array;
  /** Returns whether a certificate, in DER, is the one that they name. */
  readonly isSigner: (certificate: Uint8Array) => boolean;
}

/** @throws Refused where they are not those of a time stamp */
export function readSignedAttributes({ signer, signedAttributes }: Token): SignedAttributes {
  const { signedAttrs } = signer;
  demand(signedAttrs !== undefined && signedAttributes !== undefined, 'its signature covers no attributes');
  const named = (type: string): ArrayBuffer[] => {
    const found = signedAttrs.filter(({ attrType }) => attrType === type);
    demand(
      found.every(({ attrValues }) => attrValues.length === 1) && found.length <= 1,
      'an attribute is there twice',
    );
    return found.flatMap(({ attrValues }) => attrValues);
  };
  const [type, digest] = [contentType, messageDigest].map((one) => named(one).map((value) => fromBER(value).result)[0]);
  demand(type instanceof ObjectIdentifier && digest instanceof OctetString, 'its signature does not cover its content');
  const ids = [
    ...named(signingCertificate).map((value) => readId(value, 'sha1')),
    ...named(signingCertificateV2).map((value) => readId(value, 'sha256')),
  ];
  demand(ids.length > 0, 'its signature names no certificate');
  // What is signed is a SET, and not the tagged form of the message.
  const signed = Uint8Array.from([0x31, ...signedAttributes.subarray(1)]);
  return {
    signed,
    contentType: type.valueBlock.toString(),
    messageDigest: new Uint8Array(digest.getValue()),
    isSigner: (certificate) => ids.every(({ hash, value }) => digestOf(hash, certificate).equals(value)),
  };
}

/** The first certificate that `SigningCertificate` names, or its second version. */
function readId(value: ArrayBuffer, hashDefault: string): { readonly hash: string; readonly value: Uint8Array } {
  const [first] = membersOf(membersOf(fromBER(value).result)[0]);
  const [head, next] = membersOf(first);
  const isNamed = head instanceof Sequence;
  const hash = isNamed ? hashNamed(AsnConvert.parse(head.valueBeforeDecodeView, AlgorithmIdentifier)) : hashDefault;
  const certHash = isNamed ? next : head;
  demand(certHash instanceof OctetString, 'its signature names no certificate');
  return { hash, value: new Uint8Array(certHash.getValue()) };
}
