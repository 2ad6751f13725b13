import { Secret } from '@countersign/runtime';
import { expect, it } from '@jest/globals';
import { loadSinks } from './load-sinks.js';

const env = { AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'hidden', AWS_REGION: 'eu-west-1', TOKEN: 'Bearer x' };

it('reads the sinks of the log, with their secrets', () => {
  const setting = `
- folder: kept
- kafka: true
- s3: { bucket: logs, prefix: ledger, objectLock: { mode: compliance, days: 10 } }
- https: https://log.example/x
  headers: { authorization: { env: TOKEN } }`;
  expect(loadSinks(setting, env, '/base')).toEqual([
    { type: 'folder', folder: '/base/kept' },
    { type: 'kafka' },
    {
      ...{ type: 's3', bucket: 'logs', prefix: 'ledger', endpoint: null, region: 'eu-west-1' },
      ...{ objectLock: { mode: 'compliance', days: 10 }, allowPrivateNetwork: false },
      credentials: { accessKeyId: 'AKID', secretAccessKey: expect.any(Secret), sessionToken: null },
    },
    {
      ...{ type: 'https', url: new URL('https://log.example/x'), allowPrivateNetwork: false },
      headers: { authorization: expect.any(Secret) },
    },
  ]);
  expect(loadSinks(undefined, env, '/base')).toEqual([]);
});

it.each([
  ['[{ https: "http://log.example" }]', 'must be https'],
  ['[{ https: "https://10.0.0.1" }]', 'is in a private network'],
  ['[{ https: "https://u:p@log.example" }]', ''],
  ['[{ folder: x, more: 1 }]', ''],
  ['[{ s3: { bucket: logs, secretAccessKey: written-here } }]', ''],
  ['[{ s3: { bucket: logs, secretAccessKey: { env: MISSING } } }]', 'the environment variable MISSING is not set'],
  ['/no/such/file', 'file not found'],
])('refuses %s', (setting, why) => {
  expect(() => loadSinks(setting, env, '/base')).toThrow(why);
});
