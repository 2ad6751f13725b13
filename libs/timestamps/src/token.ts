import { SignedData, id_signedData } from '@peculiar/asn1-cms';
import type { SignerInfo } from '@peculiar/asn1-cms';
import { AsnConvert } from '@peculiar/asn1-schema';
import { PKIStatus, TSTInfo, TimeStampResp, id_ct_tstInfo } from '@peculiar/asn1-tsp';
import { Constructed, fromBER, Sequence } from 'asn1js';
import type { BaseBlock } from 'asn1js';
import { demand } from './refused.js';

/** A time stamp as it is read, with nothing of it verified. */
export interface Token {
  readonly info: TSTInfo;
  /** The bytes of `info`, whose hash is signed. */
  readonly content: Uint8Array;
  readonly signer: SignerInfo;
  /** The signed attributes as they came; undefined: there are none. */
  readonly signedAttributes: Uint8Array | undefined;
  /** The certificates in DER, as they came. */
  readonly certificates: readonly Uint8Array[];
}

/** Reads an answer of RFC 3161, in DER. @throws Refused where the time stamp was not granted; another Error where it cannot be read */
export function readToken(reply: Uint8Array): Token {
  demand(fromBER(Uint8Array.from(reply)).offset === reply.length, 'it is no answer of a time stamping authority');
  const { status, timeStampToken } = AsnConvert.parse(Uint8Array.from(reply), TimeStampResp);
  const isGranted = status.status === PKIStatus.granted || status.status === PKIStatus.grantedWithMods;
  demand(isGranted, `the authority did not grant it: ${statusWords(status)}`);
  demand(timeStampToken !== undefined, 'it has no time stamp in it, although it says that it was granted');
  demand(timeStampToken.contentType === id_signedData, 'its time stamp is not signed');
  const signed = AsnConvert.parse(timeStampToken.content, SignedData);
  const { eContentType, eContent } = signed.encapContentInfo;
  demand(eContentType === id_ct_tstInfo && eContent?.single !== undefined, 'what is signed in it is no time stamp');
  const content = new Uint8Array(eContent.single.buffer);
  const [signer, ...others] = signed.signerInfos;
  demand(signer !== undefined && others.length === 0, 'it has not exactly one signature');
  const info = AsnConvert.parse(Uint8Array.from(content), TSTInfo);
  return { info, content, signer, ...rawParts(timeStampToken.content) };
}

function statusWords({ status, statusString }: TimeStampResp['status']): string {
  const text = [...(statusString ?? [])].join(' ').slice(0, 200);
  return `status ${String(status)}${text === '' ? '' : `, ${text}`}`;
}

/** What is hashed, byte for byte: written again, it could have another hash. */
function rawParts(signedData: ArrayBuffer): Pick<Token, 'certificates' | 'signedAttributes'> {
  const members = membersOf(fromBER(signedData).result);
  const set = members.find(isTagged);
  const [signer] = membersOf(members.at(-1));
  // The first three are the version, the signer, which may have the same tag, and the hash.
  const attributes = membersOf(signer).slice(3).find(isTagged);
  return {
    signedAttributes: attributes && Uint8Array.from(attributes.valueBeforeDecodeView),
    certificates: (set === undefined ? [] : membersOf(set))
      .filter((one) => one instanceof Sequence)
      .map((one) => Uint8Array.from(one.valueBeforeDecodeView)),
  };
}

function isTagged({ idBlock }: BaseBlock): boolean {
  return idBlock.tagClass === 3 && idBlock.tagNumber === 0;
}

/** What is in a value that is made of others. @throws Refused for one that is not */
export function membersOf(block: unknown): readonly BaseBlock[] {
  demand(block instanceof Constructed, 'it is no answer of a time stamping authority');
  return block.valueBlock.value;
}
