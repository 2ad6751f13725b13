// breaks: nothing
import { expect } from '@jest/globals';
import fc from 'fast-check';
export const used = [expect, fc];
