// What the page remembers: conversation and member until the tab closes, the language for longer.

const KEY = "turnwire.conversation";
const SESSION = "turnwire.session";
const LANGUAGE = "turnwire.language";

/** The conversation that this tab is in: `{conversationId, turnId, question}`, or null. */
export function recall() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
    return typeof kept?.conversationId === "string" ? kept : null;
  } catch {
    return null;
  }
}

export const remember = (conversation) => quietly(() => sessionStorage.setItem(KEY, JSON.stringify(conversation)));
export const forget = () => quietly(() => sessionStorage.removeItem(KEY));
export const recallSession = () => quietly(() => sessionStorage.getItem(SESSION));
export const rememberSession = (id) => quietly(() => sessionStorage.setItem(SESSION, id));
export const recallLanguage = () => quietly(() => localStorage.getItem(LANGUAGE));
export const rememberLanguage = (language) => quietly(() => localStorage.setItem(LANGUAGE, language));

// A browser may forbid storage; the page then works without memory.
function quietly(act) {
  try {
    return act();
  } catch {
    return null;
  }
}
