import { describe, expect, it } from '@jest/globals';
import { toCsv } from './csv.js';

describe('a table as CSV', () => {
  it('has a header, a line for each row, and nothing for null or a missing value', () => {
    expect(toCsv(['key', 'n'], [{ key: 'alice', n: 3 }, { key: null }])).toBe('key,n\r\nalice,3\r\n,\r\n');
  });

  it('quotes commas, quotes and line breaks', () => {
    expect(toCsv(['key'], [{ key: 'a,"b"\nc' }])).toBe('key\r\n"a,""b""\nc"\r\n');
  });

  it.each(['=HYPERLINK("http://x")', '+1', '-1', '@a', '\tx', '\rx', '＝1+1', '＋1', '－1', '＠a', ' =1', '\n=1'])(
    'keeps a spreadsheet from running %j as a formula',
    (key) => {
      expect(toCsv(['key'], [{ key }]).split('\r\n')[1]?.replace('"', '')).toMatch(/^'/);
    },
  );

  it.each(['b;=2+5', 'b\t=2+5', 'b|=2+5'])('keeps a spreadsheet with another separator from splitting %j', (key) => {
    expect(toCsv(['key'], [{ key }])).toBe(`key\r\n"${key}"\r\n`);
  });
});
