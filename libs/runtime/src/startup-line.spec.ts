import { expect, it } from '@jest/globals';
import { printStartupLine } from './startup-line.js';

function printed(isTTY: boolean): string {
  let all = '';
  const write = (text: string): boolean => {
    all += text;
    return true;
  };
  printStartupLine({ isTTY, write }, 'info', 'ready\n  data /x', 'ready', { data: '/x' });
  return all;
}

it('is text on a terminal', () => {
  expect(printed(true)).toBe('ready\n  data /x\n');
});

it('is one line of JSON without a terminal', () => {
  expect(printed(false).split('\n')).toHaveLength(2);
  expect(JSON.parse(printed(false))).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as unknown,
    data: '/x',
    message: 'ready',
  });
});
