import { describe, expect, it } from '@jest/globals';
import { judgeSuite, runSuite } from './suite.js';

/**
 * Groups of schemas that are not checked whole: they lead to other documents, to a schema by what is around it, or name a
 * dialect of their own.
 */
const noteReasons =
  /: \S*\/\$((ref|dynamicRef|recursiveRef) leads to (no schema of this document|another schema by .*)|schema is a dialect .*)$/;

/** A schema of an unknown dialect is read like one that names none. */
const unknownDialect = [
  'vocabulary.json: schema that uses custom metaschema with with no validation vocabulary: no validation: invalid number, but it still validates: invalid',
];

/** draft-07 allows a validator to check `contentMediaType` and `contentEncoding`; this one ignores them. */
const contentIsNotAsserted = [
  'validation of string-encoded content based on media type: an invalid JSON document',
  'validation of binary string-encoding: an invalid base64 string (% is not a valid character)',
  'validation of binary-encoded media type documents: a validly-encoded invalid JSON document',
  'validation of binary-encoded media type documents: an invalid base64 string that is valid JSON',
].map((name) => `optional/content.json: ${name}: valid`);

describe('the official test suite', () => {
  it.each([
    { draft: 'draft2020-12', files: '*.json', passed: 1262, noted: 33, wrong: unknownDialect },
    { draft: 'draft2020-12', files: 'optional/*.json', passed: 159, noted: 4, wrong: [] },
    { draft: 'draft2019-09', files: '*.json', passed: 1237, noted: 24, wrong: unknownDialect },
    { draft: 'draft6', files: '*.json', passed: 826, noted: 13, wrong: [] },
    { draft: 'draft4', files: '*.json', passed: 608, noted: 10, wrong: [] },
    { draft: 'draft7', files: '*.json', passed: 914, noted: 13, wrong: [] },
    { draft: 'draft7', files: 'optional/*.json', passed: 113, noted: 1, wrong: contentIsNotAsserted },
  ])(
    'of $draft/$files has no wrong verdict, and $noted schemas are not checked whole',
    ({ draft, files, ...expected }) => {
      const { passed, wrong, noted } = runSuite(draft, files, { assertsFormats: false });
      expect(wrong).toEqual(expected.wrong);
      expect(noted.filter((one) => !noteReasons.test(one))).toEqual([]);
      expect({ passed, noted: noted.length }).toEqual({ passed: expected.passed, noted: expected.noted });
    },
  );

  it.each([
    { draft: 'draft2020-12', sure: 534 },
    { draft: 'draft2019-09', sure: 543 },
    { draft: 'draft7', sure: 496 },
    { draft: 'draft6', sure: 470 },
    { draft: 'draft4', sure: 353 },
  ])('of $draft is never contradicted by the judge of a log, which is sure $sure times', ({ draft, ...expected }) => {
    expect(judgeSuite(draft, '*.json')).toEqual({ ...expected, wrong: [] });
  });

  it.each(['draft2020-12', 'draft7'])('of %s has no wrong verdict about the formats that are exact here', (draft) => {
    const exact = 'optional/format/{ipv4,ipv6,json-pointer,relative-json-pointer,unknown}.json';
    expect(runSuite(draft, exact, { assertsFormats: true })).toMatchObject({ wrong: [], noted: [] });
  });
});
