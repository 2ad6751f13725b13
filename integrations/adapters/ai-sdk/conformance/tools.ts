// The tools of the specs.
import { tool } from 'ai';
import { z } from 'zod';

/** The amounts with which the body of `refund` ran. */
export const ran: number[] = [];

export const tools = {
  refund: tool({
    inputSchema: z.strictObject({ amount: z.int() }),
    execute: ({ amount }) => {
      ran.push(amount);
      return { refunded: amount };
    },
  }),
  lookup: tool({ inputSchema: z.strictObject({ id: z.string() }), execute: ({ id }) => ({ found: id }) }),
};
