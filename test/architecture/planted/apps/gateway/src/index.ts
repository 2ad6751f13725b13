export const start = 'gateway';
export const createGateway = () => start;
