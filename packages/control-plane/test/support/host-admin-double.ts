/** A host administration that remembers what it was asked and answers what a test says. */
import type { Actor, AdminCall, AdminResult } from '@freehold/directory';

export const STAFF: Actor = { kind: 'staff', id: 'prn_staff', name: 'Sam Staff', role: 'admin' };
export const SERVICE: Actor = { kind: 'service', id: 'tok_service', name: 'ci' };
export const TOKEN = 'fh_svc_good';

export interface HostAdminDouble {
  /** Every call that got through to the host administration. */
  readonly performed: AdminCall[];
  /** Every token that was looked up. */
  readonly tokens: string[];
  authenticate(token: string): Promise<Actor | null>;
  perform(call: AdminCall): Promise<AdminResult>;
}

/** @param answer what a call is answered with; a throw is the call's failure. */
export function hostAdminDouble(
  answer: (call: AdminCall) => Partial<AdminResult> = () => ({}),
): HostAdminDouble {
  const performed: AdminCall[] = [];
  const tokens: string[] = [];
  return {
    performed,
    tokens,
    authenticate: async (token) => {
      tokens.push(token);
      return token === TOKEN ? SERVICE : null;
    },
    perform: async (call) => {
      performed.push(call);
      return { status: 200, value: null, replayed: false, ...answer(call) };
    },
  };
}
