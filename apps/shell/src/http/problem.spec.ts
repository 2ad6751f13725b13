import { describe, expect, it } from '@jest/globals';
import { edgeCodes, refusalCodes } from '@countersign/contracts';
import { ProblemError, statusOf, toProblem } from './problem.js';

/** The statuses of the contract; every other code of the decider is 409. */
const contract: Readonly<Record<number, readonly string[]>> = {
  400: ['invalid-request', 'reason-required'],
  401: ['unauthenticated'],
  403: ['forbidden', 'own-request', 'not-an-approver', 'signature-required'],
  404: ['not-found', 'unknown-approval'],
  405: ['method-not-allowed'],
  406: ['not-acceptable'],
  410: ['expired'],
  413: ['payload-too-large'],
  415: ['unsupported-media-type'],
  421: ['misdirected-request'],
  422: ['invalid-arguments', 'decision-not-allowed'],
  429: ['too-many-requests'],
  500: ['internal-error'],
  503: ['unavailable'],
};
const expected = (code: string): number =>
  Number(Object.entries(contract).find(([, codes]) => codes.includes(code))?.[0] ?? 409);

describe('the table of problems', () => {
  it.each([...refusalCodes, ...edgeCodes])('%s has the status of the contract', (code) => {
    expect(statusOf(code)).toBe(expected(code));
  });

  it('makes documents with a stable code, type and title', () => {
    expect(toProblem({ code: 'expired', detail: 'too late' })).toEqual({
      type: '/problems/expired',
      title: 'The approval has expired',
      status: 410,
      code: 'expired',
      detail: 'too late',
    });
  });

  it('puts what a refusal adds at the top level, and lets it replace nothing', () => {
    const extra = { respondedBy: 'ann', status: 'approved', code: 'mine', type: 'x', title: 'y', detail: 'z' };
    expect(toProblem({ code: 'already-resolved', detail: 'by ann', extra })).toMatchObject({
      respondedBy: 'ann',
      status: 409,
      code: 'already-resolved',
      type: '/problems/already-resolved',
      detail: 'by ann',
    });
  });

  it('is what a thrown problem carries', () => {
    const errors = [{ path: 'a', message: 'is wrong' }];
    expect(new ProblemError('invalid-request', 'no', { errors }).refusal).toEqual({
      code: 'invalid-request',
      detail: 'no',
      errors,
    });
  });
});
