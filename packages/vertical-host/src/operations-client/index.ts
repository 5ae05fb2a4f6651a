/**
 * The client of a vertical's own front end: every operation by its name, with the types of its own declaration. It brings
 * no code but its own to the browser. Start with `operations-client.ts`.
 */
export { ApiError, type ApiErrorCode, apiErrorOf, unreachable } from './api-error.ts';
export {
  type Answer,
  type CallOptions,
  makeOperationsClient,
  type OperationAddresses,
  type OperationInput,
  type OperationOutput,
  type OperationsClient,
  type OperationsClientOptions,
} from './operations-client.ts';
