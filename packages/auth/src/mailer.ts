/** The port through which the library writes to people. What is behind it is the operator's choice. */

/** One message to one person. Plain text always; the HTML says the same. */
export interface Mail {
  /** One address, already checked: no list, no display name, no line break. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
}

/** Sends mail. Resolves when the next server has taken it over, and rejects when it has not. */
export interface Mailer {
  send(mail: Mail): Promise<void>;
}
