import { expect, it } from '@jest/globals';
import { textFormat } from './formats.js';

it('a URI template has every character but controls, space, delimiters and lone braces (RFC 6570, 2.1)', () => {
  const isTemplate = textFormat('uri-template');
  const refused = Array.from({ length: 0x1_0000 }, (_, code) => String.fromCharCode(code)).filter(
    (one) => !isTemplate?.(one),
  );
  const controlsAndSpace = Array.from({ length: 0x21 }, (_, code) => String.fromCharCode(code));
  expect(refused).toEqual([...controlsAndSpace, '"', '%', "'", '<', '>', '\\', '^', '`', '{', '|', '}']);
});
