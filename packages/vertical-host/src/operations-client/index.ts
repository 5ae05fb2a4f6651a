/**
 * The client of a vertical's own front end: every operation by its name, with the types of its own declaration. It brings
 * no code but its own to the browser. Start with `operations-client.ts`.
 */
export {
  type Answer,
  ApiError,
  type ApiErrorCode,
  apiErrorOf,
  type CallOptions,
  makeOperationsClient,
  type OperationAddresses,
  type OperationInput,
  type OperationOutput,
  type OperationsClient,
  type OperationsClientOptions,
  unreachable,
} from './operations-client.ts';
