/** The texts of the pages: one shape, which each language fills. A text that is missing in one does not compile. */
import type { IdentityEventType } from '@freehold/auth';
import type { ProblemCode } from '@freehold/contracts';
import type { IdentityEventKind } from '../../wire/wire.ts';

/** Text with a part that is known later. */
type With<Parts extends unknown[]> = (...parts: Parts) => string;

export interface Texts {
  readonly frame: {
    readonly skip: string;
    readonly navigation: string;
    readonly home: string;
    readonly team: string;
    readonly log: string;
    readonly account: string;
    readonly signIn: string;
    readonly signOut: string;
    readonly back: string;
    readonly more: string;
    readonly first: string;
    /** Before the title of a page whose form is to be corrected. */
    readonly errorTitle: string;
    readonly cancel: string;
    readonly show: string;
    readonly roleNone: string;
    readonly unnamed: string;
    readonly formerMember: string;
    readonly nonMember: string;
    readonly platform: string;
    /** On a page that is made by a script, for browsers without. */
    readonly needsScript: string;
  };
  readonly front: {
    readonly welcome: With<[business: string]>;
    readonly signInFirst: string;
    readonly forPrograms: string;
    readonly notWired: string;
    readonly notWiredWhat: With<[place: string]>;
    readonly notWiredThen: string;
    readonly signedInAs: With<[person: string]>;
    readonly yourRoles: With<[roles: string]>;
    readonly whatIsHere: string;
    readonly teamWhat: string;
    readonly logWhat: string;
    readonly historyWhat: string;
    readonly accountWhat: string;
    readonly erase: string;
    readonly eraseWhat: string;
    readonly history: string;
    readonly settingsWhat: string;
    readonly apiDocs: string;
    readonly apiDocsWhat: string;
    readonly mcp: string;
    readonly mcpWhat: string;
    readonly notMember: string;
    readonly notMemberWhat: With<[business: string]>;
    readonly anotherAccount: string;
    readonly signedOutEverywhere: string;
    readonly alsoAtIssuer: string;
    /** The reason why there is no owner, and what to do; `null`: there is one. */
    readonly seats: Readonly<
      Record<'never_opened' | 'window_open' | 'window_closed' | 'claim_outstanding' | 'claimed', string>
    >;
    /** A sign-in that failed, by the code in the address. */
    readonly failures: Readonly<
      Record<'access_denied' | 'flow_expired' | 'state_mismatch' | 'issuer_unavailable' | 'other', string>
    >;
  };
  readonly links: {
    readonly invited: string;
    readonly invitedBy: With<[by: string, business: string, role: string]>;
    readonly theOwner: string;
    readonly forAddress: With<[email: string]>;
    readonly goodUntil: string;
    readonly signInToAccept: string;
    readonly accept: string;
    readonly memberAlready: string;
    readonly goOn: string;
    readonly continueWithout: string;
    readonly noLink: string;
    readonly closed: string;
    readonly states: Readonly<Record<'accepted' | 'revoked' | 'expired', string>>;
    readonly byProgram: With<[path: string]>;
    readonly claim: With<[business: string]>;
    readonly claimWhat: string;
    readonly signInToClaim: string;
    readonly becomeOwner: string;
    readonly isOwner: string;
    readonly isOwnerWhat: string;
    readonly claimAsMember: string;
  };
  readonly team: {
    readonly members: string;
    readonly you: string;
    readonly owner: string;
    readonly since: string;
    readonly role: string;
    readonly roleOf: With<[person: string]>;
    readonly changeRole: string;
    readonly remove: string;
    readonly removeOf: With<[person: string]>;
    readonly removeWhat: readonly string[];
    readonly makeOwner: string;
    readonly makeOwnerOf: With<[person: string]>;
    readonly makeOwnerWhat: readonly string[];
    readonly invite: string;
    readonly inviteWhat: string;
    readonly email: string;
    readonly emailHint: string;
    readonly name: string;
    readonly makeLink: string;
    readonly linkMade: string;
    readonly linkOnce: string;
    readonly link: string;
    readonly sendLink: string;
    readonly mailSubject: With<[business: string]>;
    readonly mailBody: With<[business: string, url: string]>;
    readonly pending: string;
    readonly noneHere: string;
    readonly until: string;
    readonly revoke: string;
    readonly revokeOf: With<[who: string]>;
    readonly anyone: string;
    readonly faults: Readonly<Record<'email' | 'role' | 'name', string>>;
    readonly done: Readonly<Record<'role' | 'removed' | 'owner' | 'revoked', string>>;
  };
  readonly log: {
    readonly title: string;
    readonly events: string;
    readonly denials: string;
    readonly history: string;
    readonly kind: string;
    readonly everything: string;
    readonly kinds: Readonly<Record<IdentityEventKind, string>>;
    readonly none: string;
    readonly noneYet: string;
    readonly by: string;
    /** Between a person and the program that acted for them: "Ada, through Claude Desktop". */
    readonly through: string;
    readonly person: string;
    readonly further: string;
    readonly wanted: string;
    readonly operation: string;
    readonly record: string;
    readonly recordType: string;
    readonly recordId: string;
    readonly recordIdHint: string;
    readonly showHistory: string;
    readonly details: string;
    readonly effects: string;
    readonly withheld: string;
    readonly types: Readonly<Record<IdentityEventType, string>>;
    readonly facts: Readonly<
      Record<
        | 'role'
        | 'reason'
        | 'how'
        | 'by'
        | 'credential'
        | 'factor'
        | 'changed'
        | 'keys'
        | 'until'
        | 'program'
        | 'host'
        | 'access'
        | 'permissions'
        | 'programs'
        | 'hosts',
        string
      >
    >;
    /** Words of the log that are the same everywhere, such as reasons. An unknown one is shown as it is. */
    readonly words: Readonly<Record<string, string>>;
  };
  readonly account: {
    readonly title: string;
    readonly who: string;
    readonly name: string;
    readonly email: string;
    readonly unverified: string;
    readonly unknown: string;
    readonly roles: string;
    readonly notMember: string;
    readonly signIn: string;
    readonly modes: Readonly<Record<'hosted' | 'directory' | 'tokens', string>>;
    readonly security: string;
    readonly sessions: string;
    readonly noSessions: string;
    readonly unknownBrowser: string;
    readonly thisOne: string;
    readonly elsewhere: string;
    readonly started: string;
    readonly end: string;
    readonly endOf: With<[browser: string]>;
    readonly endOthers: string;
    readonly endAll: string;
    readonly programs: string;
    readonly programsWhat: string;
    readonly mcpAddress: string;
    readonly programsByMode: Readonly<Record<'hosted' | 'directory' | 'tokens', string>>;
    readonly issuers: string;
    readonly metadata: string;
    readonly done: Readonly<Record<'ended' | 'others', string>>;
  };
  readonly programs: {
    readonly title: string;
    readonly what: string;
    readonly yours: string;
    readonly ofOthers: string;
    readonly none: string;
    readonly token: string;
    readonly person: string;
    readonly calls: string;
    readonly from: string;
    readonly you: string;
    readonly mayDo: string;
    readonly read: string;
    readonly all: string;
    readonly some: string;
    readonly permissions: string;
    readonly since: string;
    readonly used: string;
    readonly usedFrom: string;
    readonly neverUsed: string;
    readonly until: string;
    readonly end: string;
    readonly endOf: With<[name: string]>;
    readonly newToken: string;
    readonly tokenWhat: string;
    readonly tokenName: string;
    readonly tokenLife: string;
    readonly days: With<[days: string]>;
    readonly makeToken: string;
    readonly tokenOnce: string;
    readonly policy: string;
    readonly policyWhat: string;
    readonly policyChoice: string;
    readonly policies: Readonly<Record<'any' | 'listed' | 'none', string>>;
    readonly hosts: string;
    readonly hostsHint: string;
    readonly reads: string;
    readonly callsPerMinute: string;
    readonly callsPerMinuteHint: string;
    readonly mails: string;
    readonly setPolicy: string;
    readonly done: Readonly<Record<'ended' | 'policy', string>>;
    readonly letIn: With<[name: string]>;
    readonly asks: With<[business: string]>;
    /** Beside the host: what it says about the program. */
    readonly origins: Readonly<Record<'proven' | 'web' | 'loopback' | 'scheme', string>>;
    readonly never: string;
    readonly allow: string;
    readonly decline: string;
    readonly choose: string;
    readonly notAdmitted: string;
    readonly notAdmittedWhat: With<[name: string, host: string]>;
    readonly backTo: With<[name: string]>;
    readonly refused: string;
    readonly unknown: string;
    readonly lost: string;
    readonly signInFirst: string;
    readonly signInAgain: string;
    readonly mailSubject: With<[name: string, business: string]>;
    readonly mailText: With<[name: string, business: string, url: string]>;
  };
  readonly erase: {
    readonly title: string;
    readonly what: string;
    readonly type: string;
    readonly id: string;
    readonly idHint: string;
    readonly next: string;
    readonly confirmTitle: string;
    readonly record: string;
    readonly consequences: readonly string[];
    readonly understood: string;
    readonly mustConfirm: string;
    readonly erase: string;
    readonly done: string;
    readonly unknownType: string;
  };
  readonly settings: {
    readonly title: string;
    readonly what: string;
    readonly from: Readonly<Record<'delivered' | 'platform' | 'default', string>>;
    readonly none: string;
    readonly secret: string;
    readonly retention: string;
    readonly history: string;
    readonly denials: string;
    readonly forGood: string;
    readonly days: With<[days: string]>;
    readonly model: string;
    readonly access: string;
    readonly accesses: Readonly<Record<'all' | 'entitled', string>>;
    readonly tokens: With<[month: string]>;
    readonly limit: string;
    readonly noLimit: string;
  };
  readonly problem: {
    readonly code: string;
    readonly requestId: string;
    readonly toFront: string;
    readonly aboutCode: string;
    readonly titles: Readonly<Record<ProblemCode, string>>;
    readonly advice: Readonly<Record<ProblemCode, string>>;
    /** The sentence for a reason. Null: that of the problem itself, which is the builder's or English. */
    readonly sentence: (problem: {
      readonly reason?: string | undefined;
      readonly detail: string;
    }) => string | null;
  };
}
