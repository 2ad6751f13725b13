export const start = 'ledger';
