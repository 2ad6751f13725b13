import { expect, it } from '@jest/globals';
import { checkCaller } from './http-request.js';

const check = (host: string, port: number, origin?: string) => () => {
  checkCaller({ headers: { host, origin } }, port);
};

it.each([
  ['127.0.0.1', 80],
  ['localhost:80', 80],
  ['LocalHost:7500', 7500],
])('takes the Host %s at port %i', (host, port) => {
  expect(check(host, port)).not.toThrow();
  expect(check(host, port, `http://${host.toLowerCase()}`)).not.toThrow();
});

it.each([
  ['127.0.0.1', 7500],
  ['evil.example', 80],
])('refuses the Host %s at port %i', (host, port) => {
  expect(check(host, port)).toThrow('the Host header is not that of the gate');
});
