import { createHash } from 'node:crypto';
import type { JudgeStamp } from '../audit/timestamps.js';

/** SHA-256 as RFC 3161 names it, without and with the parameters that mean nothing, and the length of the hash. */
const imprintsOf = ['300d06096086480165030402010500', '300b0609608648016503040201'].map((algorithm) =>
  Buffer.from(`${algorithm}0420`, 'hex'),
);

/** Compares the hash in a time stamp with the text. The signature is not checked here: that takes a library larger than this program. */
export const compareImprint: JudgeStamp = ({ text, reply }) => {
  const digest = createHash('sha256').update(text).digest();
  const isOf = imprintsOf.some((imprint) => Buffer.from(reply).includes(Buffer.concat([imprint, digest])));
  return isOf ? { status: 'unchecked' } : { status: 'refused', why: 'it is of another text' };
};
