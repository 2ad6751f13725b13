// breaks: no-restricted-syntax
export const draw = (): number => Math.random();
