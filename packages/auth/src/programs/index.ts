/** Grants of programs for a unit that is no identity directory: the entry `@freehold/auth/grants`. */
export { accessOf } from './access.ts';
export { ASSERTIONS_TABLE } from './assertions.ts';
export type {
  ClientProof,
  CodeBinding,
  RedeemCodeInput,
  RefreshInput,
  StoredClient,
  TokenAnswer,
} from './contract.ts';
export { type EndedBy, makeGrantFlow } from './grant-flow.ts';
export {
  makeQuestionOperations,
  QUESTIONS_TABLE,
  type QuestionAnswer,
  type QuestionCaller,
} from './questions.ts';
export { SECRET_PREFIXES } from './secrets.ts';
export { deleteGrant, type GrantRow, loadGrant, loadGrants, loadGrantsOfPerson } from './store.ts';
