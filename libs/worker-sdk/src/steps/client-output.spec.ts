import { describe, expect, it } from '@jest/globals';
import type { ClientOutputBody } from '@countersign/contracts';
import { submitFailure, submitOutput } from './client-output.js';
import type { Requests } from '../ledger/requests.js';

function setUp() {
  const bodies: ClientOutputBody[] = [];
  const requests = { output: async (_: string, body: ClientOutputBody) => void bodies.push(body) } as Requests;
  return { requests, bodies };
}

describe('the failure of a client', () => {
  it.each([
    [new Error('\ud800'), { name: 'Error', message: '\ufffd' }],
    [new RangeError('too far'), { name: 'RangeError', message: 'too far' }],
    [{ code: 'E1' }, { code: 'E1' }],
    ['half \ud800', 'half \ufffd'],
    [{ code: '\ud800', message: 'no' }, { message: 'no' }],
    [new Map([[1, 2]]), { message: 'thrown object' }],
    [undefined, { message: 'thrown undefined' }],
  ])('%p is recorded', async (error, recorded) => {
    const { requests, bodies } = setUp();
    await submitFailure(requests, 'tc_1', error);
    expect(bodies).toEqual([{ status: 'failed', error: recorded }]);
  });
});

describe('the output of a client', () => {
  it.each([[new Map([[1, 2]])], [new Set([1])], [new Error('no')], [1n]])(
    '%p is refused, because JSON cannot hold it',
    async (output) => {
      const { requests, bodies } = setUp();
      await expect(submitOutput(requests, 'tc_1', output)).rejects.toThrow(TypeError);
      expect(bodies).toEqual([]);
    },
  );

  it.each([null, undefined])('%p is recorded as null', async (output) => {
    const { requests, bodies } = setUp();
    await submitOutput(requests, 'tc_1', output);
    expect(bodies).toEqual([{ status: 'succeeded', output: null }]);
  });
});
