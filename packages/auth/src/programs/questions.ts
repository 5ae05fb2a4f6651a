/**
 * Questions of programs that wait for their person: the call waits in one process, and its answer may reach another. A row
 * has no word of the question.
 */
import type { SqlDatabase, UnitContext } from '@freehold/store';

/** The time that a person has for an answer. */
const ANSWER_WITHIN_MS = 10 * 60_000;
/** Of one program: with more of them, its person reads none. */
const WAITING_MAX = 10;
/** Of one scope. It is the application that says which program asks, and its code may be hostile. */
const WAITING_IN_SCOPE_MAX = 100;

/** The migration of each unit with grants: it never changes. */
export const QUESTIONS_TABLE = `
  CREATE TABLE program_questions (
    scope_id TEXT NOT NULL,
    caller TEXT NOT NULL CHECK (length(caller) <= 100),
    question TEXT NOT NULL CHECK (length(question) <= 100),
    call TEXT NOT NULL CHECK (length(call) <= 100),
    answer TEXT CHECK (answer IN ('accepted', 'declined', 'cancelled', 'unfilled')),
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (scope_id, caller, question)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX program_questions_by_caller ON program_questions (caller);
  CREATE INDEX program_questions_by_expiry ON program_questions (expires_at);`;

export type QuestionAnswer = 'accepted' | 'declined' | 'cancelled' | 'unfilled';

/** The caller that asks: the id of its grant, else that of its principal or token. */
export interface QuestionCaller {
  readonly scopeId: string;
  readonly caller: string;
}

/** A question, or the call that it belongs to: digests, which no other session can make. */
type Question = QuestionCaller & { readonly question: string };
type Answered = Question | (QuestionCaller & { readonly call: string });

export function makeQuestionOperations({ db, now }: UnitContext) {
  return {
    /** Adds a question, which waits for ten minutes. Returns false where too many wait. */
    openQuestion({ scopeId, caller, question, call }: Question & { readonly call: string }): boolean {
      db.run('DELETE FROM program_questions WHERE expires_at <= ?', now());
      const opened = db.get(
        `INSERT INTO program_questions (scope_id, caller, question, call, expires_at) SELECT ?1, ?2, ?3, ?4, ?5
           WHERE (SELECT count(*) FROM program_questions WHERE scope_id = ?1 AND caller = ?2) < ${WAITING_MAX}
             AND (SELECT count(*) FROM program_questions WHERE scope_id = ?1) < ${WAITING_IN_SCOPE_MAX}
         ON CONFLICT DO NOTHING RETURNING 1`,
        ...[scopeId, caller, question, call, now() + ANSWER_WITHIN_MS],
      );
      return opened !== undefined;
    },

    /** Notes the first answer to a question, or to those of a call. Returns whether one waited for it. */
    answerQuestion(input: Answered & { readonly answer: QuestionAnswer }): boolean {
      const [column, digest] = 'question' in input ? ['question', input.question] : ['call', input.call];
      const { scopeId, caller, answer } = input;
      const answered = db.all(
        `UPDATE program_questions SET answer = ?1 WHERE scope_id = ?2 AND caller = ?3 AND ${column} = ?4
           AND answer IS NULL AND expires_at > ?5 RETURNING 1`,
        ...[answer, scopeId, caller, digest ?? '', now()],
      );
      return answered.length > 0;
    },

    /** Returns the answer; null for a question that is over, or of which nothing is known. A query. */
    readQuestion({ scopeId, caller, question }: Question): QuestionAnswer | 'waiting' | null {
      const row = db.get<{ answer: QuestionAnswer | null }>(
        `SELECT answer FROM program_questions WHERE scope_id = ? AND caller = ? AND question = ? AND expires_at > ?`,
        ...[scopeId, caller, question, now()],
      );
      return row ? (row.answer ?? 'waiting') : null;
    },

    /** Forgets a question whose call has its answer, or has ended without one. */
    closeQuestion({ scopeId, caller, question }: Question): null {
      db.run(
        'DELETE FROM program_questions WHERE scope_id = ? AND caller = ? AND question = ?',
        ...[scopeId, caller, question],
      );
      return null;
    },
  };
}

/** Forgets the questions of a program whose access ends: its calls are not made, whatever was answered. */
export function deleteQuestionsOf(db: SqlDatabase, grant: string): void {
  db.run('DELETE FROM program_questions WHERE caller = ?', grant);
}
