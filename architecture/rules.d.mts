export const forbidden: { name: string; severity: 'error' }[];
