import { ConfigError } from '@countersign/runtime';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { printJson, reasonOf } from './process-entry.js';

class PolicyFileError extends Error {
  override readonly name = 'PolicyFileError';
}

describe('why a process cannot start', () => {
  it.each([
    ['a wrong configuration', new ConfigError([{ variable: 'COUNTERSIGN_PORT', problem: 'must be a port number' }])],
    ['an error of ours', new PolicyFileError('policy.yaml: rules[0]: has no effect')],
    ['one of the system', Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' })],
  ])('is told in a sentence: %s', (_, error) => {
    expect(reasonOf(error)).toBe(error.message);
  });

  it('names the remedy where another process has the port', () => {
    const error = Object.assign(new Error('listen EADDRINUSE: 127.0.0.1:7400'), { code: 'EADDRINUSE' });
    expect(reasonOf(error)).toBe(
      'listen EADDRINUSE: 127.0.0.1:7400. Another process has the port: stop it, or set COUNTERSIGN_PORT.',
    );
  });

  it.each([
    ['getaddrinfo ENOTFOUND nohost', { code: 'ENOTFOUND' }, 'COUNTERSIGN_HOST must be an address of this machine.'],
    ['listen EADDRNOTAVAIL', { code: 'EADDRNOTAVAIL' }, 'COUNTERSIGN_HOST must be an address of this machine.'],
    ['listen EACCES', { code: 'EACCES', port: 80 }, expect.stringContaining('set COUNTERSIGN_PORT to 1024 or more.')],
  ])('names the remedy where the address or the port cannot be used: %s', (message, system, remedy) => {
    const [cause, ...rest] = reasonOf(Object.assign(new Error(message), system)).split('. ');
    expect([cause, rest.join('. ')]).toEqual([message, remedy]);
  });

  it.each([new Error('a bug'), new TypeError('undefined is not a function'), new RangeError('out of range')])(
    'includes the stack of an unexpected error: %s',
    (error) => {
      expect(reasonOf(error)).toBe(error.stack);
      expect(reasonOf(error)).toContain('process-entry.spec');
    },
  );

  it('is the thing itself when it is no error', () => {
    expect(reasonOf('no')).toBe('no');
  });
});

describe('printing as JSON', () => {
  const written = { out: '', err: '' };
  const listen = (): void => {
    Object.assign(written, { out: '', err: '' });
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => ((written.out += String(text)), true));
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => ((written.err += String(text)), true));
  };
  afterEach(() => {
    process.exitCode = undefined;
  });

  it('goes to the standard output, for programs to read', () => {
    listen();
    printJson('countersign', () => ({ port: 7400 }));
    expect(written).toEqual({ out: '{\n  "port": 7400\n}\n', err: '' });
    expect(process.exitCode).toBeUndefined();
  });

  it('fails with a sentence in the name of the process, and exit code 1', () => {
    listen();
    printJson('countersign relay', () => {
      throw new ConfigError([{ variable: 'COUNTERSIGN_PORT', problem: 'must be a port number' }]);
    });
    expect(written).toEqual({
      out: '',
      err: 'countersign relay: invalid configuration:\n  COUNTERSIGN_PORT: must be a port number\n',
    });
    expect(process.exitCode).toBe(1);
  });
});

it.each([
  Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }),
  Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 }),
])('says what to do about a full disk', (error) => {
  expect(reasonOf(error)).toMatch(
    /^the disk is full \(.*\): free some space where the data folder is, and start again$/,
  );
});
