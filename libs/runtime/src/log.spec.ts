import { createCollectingLog, createSilentLog } from './collecting-log.js';
import { createLog } from './log.js';
import { openLogScope } from './log-scope.js';

function lines(level: 'debug' | 'info' | 'silent'): {
  readonly written: string[];
  readonly log: ReturnType<typeof createLog>;
} {
  const written: string[] = [];
  const destination = { write: (line: string) => void written.push(line) };
  return {
    written,
    log: createLog({ level, destination, fields: { process: 'gateway' }, redact: ['headers.authorization'] }),
  };
}

describe('the log', () => {
  it('writes a JSON object a line, with the fields of its parents', () => {
    const { written, log } = lines('debug');
    log.child({ callId: 'tc_1' }).info({ revision: 3 }, 'recorded');
    log.debug({}, 'a');
    log.warn({}, 'b');
    log.error({ error: new Error('outer', { cause: new Error('inner') }) }, 'c');
    expect(written.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual([
      'info',
      'debug',
      'warn',
      'error',
    ]);
    expect(JSON.parse(written[0] ?? '')).toMatchObject({
      level: 'info',
      message: 'recorded',
      process: 'gateway',
      callId: 'tc_1',
      revision: 3,
    });
    expect(written[3]).toContain('inner');
  });

  it('redacts what it is told to, and drops what is below its level', () => {
    const { written, log } = lines('info');
    log.debug({}, 'not written');
    log.info({ headers: { authorization: 'Bearer abc' } }, 'request');
    expect(written).toHaveLength(1);
    expect(written[0]).not.toContain('abc');
    lines('silent').log.error({}, 'nothing');
  });
});

describe('a log scope', () => {
  it('gives its fields to the lines of everything that it begins, until it ends', async () => {
    const { written, log } = lines('info');
    const scope = openLogScope({ requestId: 'r-1' });
    const later = new Promise<void>((resolve) => {
      scope.run(() => {
        log.info({ revision: 1 }, 'inside');
        setTimeout(() => {
          log.child({ callId: 'tc_1' }).info({}, 'later');
          scope.end();
          log.info({}, 'after');
          resolve();
        }, 1);
      });
    });
    log.info({}, 'outside');
    await later;
    expect(written.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { message: 'inside', revision: 1, requestId: 'r-1' },
      { message: 'outside' },
      { message: 'later', callId: 'tc_1', requestId: 'r-1' },
      { message: 'after' },
    ]);
    expect([written[1], written[3]].join()).not.toContain('r-1');
  });
});

describe('logs for tests', () => {
  it('collect the lines of children too', () => {
    const log = createCollectingLog();
    log.child({ part: 'store' }).warn({ count: 1 }, 'slow');
    expect(log.entries).toEqual([{ level: 'warn', message: 'slow', fields: { part: 'store', count: 1 } }]);
  });

  it('can be silent', () => {
    const log = createSilentLog();
    expect(() => {
      log.child({}).error({}, 'dropped');
    }).not.toThrow();
  });
});
