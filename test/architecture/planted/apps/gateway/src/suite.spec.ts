// breaks: nothing
import { suite } from '@countersign/event-store/testing';
export const used = suite;
