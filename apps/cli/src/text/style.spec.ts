import { describe, expect, it } from '@jest/globals';
import { createStyle, wantsColor } from './style.js';

describe('colour', () => {
  it.each([
    ['a terminal', {}, true, true, true],
    ['a pipe', {}, false, true, false],
    ['NO_COLOR', { NO_COLOR: '1' }, true, true, false],
    ['an empty NO_COLOR', { NO_COLOR: '' }, true, true, true],
    ['NO_COLOR over FORCE_COLOR', { NO_COLOR: '1', FORCE_COLOR: '1' }, true, true, false],
    ['FORCE_COLOR into a pipe', { FORCE_COLOR: '1' }, false, true, true],
    ['--no-color', {}, true, false, false],
    ['a dumb terminal', { TERM: 'dumb' }, true, true, false],
  ])('%s', (_, env, isTty, asked, wanted) => {
    expect(wantsColor(env, isTty, asked)).toBe(wanted);
  });

  it('paints, or leaves every text as it is', () => {
    expect(createStyle(true).red('no')).toBe('\u001b[31mno\u001b[39m');
    expect(createStyle(false).red('no')).toBe('no');
  });
});
