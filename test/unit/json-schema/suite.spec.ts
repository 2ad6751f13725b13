import { describe, expect, it } from '@jest/globals';
import { runSuite } from './suite.js';

/** Groups of schemas that are refused: they lead to other documents, name another draft, or use `$dynamicRef`. */
const refusedReasons =
  /: (\S*\/\$ref leads to no schema of this document|\S*\/\$dynamicRef is not supported|\/\$schema must be that of draft 2020-12 or draft-07)$/;

/** draft-07 allows a validator to check `contentMediaType` and `contentEncoding`; this one ignores them. */
const contentIsNotAsserted = [
  'validation of string-encoded content based on media type: an invalid JSON document',
  'validation of binary string-encoding: an invalid base64 string (% is not a valid character)',
  'validation of binary-encoded media type documents: a validly-encoded invalid JSON document',
  'validation of binary-encoded media type documents: an invalid base64 string that is valid JSON',
].map((name) => `optional/content.json: ${name}: valid`);

describe('the official test suite', () => {
  it.each([
    { draft: 'draft2020-12', files: '*.json', passed: 1213, refused: 41, wrong: [] },
    { draft: 'draft2020-12', files: 'optional/*.json', passed: 155, refused: 4, wrong: [] },
    { draft: 'draft7', files: '*.json', passed: 900, refused: 13, wrong: [] },
    { draft: 'draft7', files: 'optional/*.json', passed: 112, refused: 1, wrong: contentIsNotAsserted },
  ])('of $draft/$files has no wrong verdict, and $refused schemas are refused', ({ draft, files, ...expected }) => {
    const { passed, wrong, refused } = runSuite(draft, files, { assertsFormats: false });
    expect(wrong).toEqual(expected.wrong);
    expect(refused.filter((one) => !refusedReasons.test(one))).toEqual([]);
    expect({ passed, refused: refused.length }).toEqual({ passed: expected.passed, refused: expected.refused });
  });

  it.each(['draft2020-12', 'draft7'])('of %s has no wrong verdict about the formats that are exact here', (draft) => {
    const exact = 'optional/format/{ipv4,ipv6,json-pointer,relative-json-pointer,unknown}.json';
    expect(runSuite(draft, exact, { assertsFormats: true })).toMatchObject({ wrong: [], refused: [] });
  });
});
