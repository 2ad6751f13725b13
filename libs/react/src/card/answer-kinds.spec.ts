import { describe, expect, it } from '@jest/globals';
import { answerOf, choicesIn, looksLikeJson } from './answer-kinds.js';
import type { AnswerKind } from './answer-kinds.js';

describe('an answer', () => {
  it.each<[AnswerKind, string, unknown]>([
    ['text', '42', '42'],
    ['text', ' {"a":1} ', ' {"a":1} '],
    ['number', ' 42.50 ', 42.5],
    ['yes-no', 'true', true],
    ['yes-no', 'false', false],
    ['choice', '"b"', 'b'],
    ['choice', '1', 1],
    ['choice', '"1"', '1'],
    ['json', '{"a":[1,null]}', { a: [1, null] }],
    ['json', '"42"', '42'],
  ])('as %s of %j is what the person has chosen', (kind, text, value) => {
    expect(answerOf(kind, text, ['a', 'b', '1', 1])).toEqual({ status: 'ok', value });
  });

  it.each<[AnswerKind, string]>([
    ['number', '12345678901234567890'],
    ['number', 'ten'],
    ['json', '{"id":12345678901234567890}'],
    ['json', '{'],
    ['choice', '7'],
    ['choice', '"gone"'],
    ['choice', '0'],
    ['text', '  '],
  ])('as %s is none of %j', (kind, text) => {
    expect(answerOf(kind, text, ['a', 'b']).status).toBe('open');
  });

  it('is offered by a short list of the arguments, and by nothing else', () => {
    expect(choicesIn({ question: 'Which?', options: ['red', 'green', 3] })).toEqual(['red', 'green', 3]);
    expect(choicesIn({ choices: [{ id: 1 }] })).toEqual([]);
    expect(choicesIn({ options: 'red' })).toEqual([]);
    expect(choicesIn({ options: Array(51).fill('x') })).toEqual([]);
  });

  it('that is written as an object may be meant as JSON', () => {
    expect(['{"a":1}', '[1]', '42', '{a}'].map(looksLikeJson)).toEqual([true, true, false, false]);
  });
});
