"""Placeholders: texts of WhatsApp and others in place of a message, in English and six other languages.

    <Media omitted>            This message was deleted            Missed voice call
    Bild weggelassen           Ce message a été supprimé           Llamada perdida

Law 1. Only a whole line is a placeholder: "My image omitted the sky." is a person's sentence. Law 2. The name
of an attached file is kept, in the form that files have in other conversations.
"""

import re
from functools import cache
from typing import Final

MISSING: Final = (  # by language, words for the missing content, and words for its absence
    (r"(?:media|image|video|video note|audio|gif|sticker|document|contact card)", "omitted"),
    (r"(?:medien|bild|video|videonachricht|audio|gif|sticker|dokument|kontaktkarte)",
     r"(?:ausgeschlossen|weggelassen|ausgelassen)"),
    (r"(?:médias?|image|vidéo|message vidéo|audio|gif|sticker|document|fiche contact)",
     r"(?:omi|absent|retiré|manquant)e?s?"),
    (r"(?:multimedia|archivo|imagen|v[ií]deo|nota de vídeo|audio|gif|sticker|documento|tarjeta de contacto)",
     r"omitid[oa]"),
    (r"(?:media|immagine|video|videomessaggio|audio|gif|sticker|documento|scheda contatto)",
     r"(?:omess[oaie]|esclus[oa]|non inclus[oa])"),
    (r"(?:mídia|(?:arquivo|ficheiro) de mídia|ficheiro|imagem|vídeo|áudio|gif|figurinha|documento|"
     r"cartão do contato)", r"(?:ocult|omitid|ocultad)[oa]|não revelado"),
    (r"(?:media|afbeelding|video|videobericht|audio|gif|sticker|document|contactkaart)", "weggelaten"),
)  # fmt: skip
TAIL: Final = r"(?:\..{0,80}(?:chat|whatsapp|tap ).*)?"  # the rest of the notice about encryption
MESSAGES: Final = (
    r"this message was deleted(?: by admin [^.]{1,40})?|you deleted this message",
    r"you unsent a message|you sent an attachment|liked a message",  # Facebook and Instagram
    r"waiting for this message\. this may take a while",
    r"missed (?:group )?(?:voice|video) call(?:[.,] tap to call back)?",
    r"messages(?: to this [a-z]+)? and calls are (?:now )?(?:secured with )?end-to-end encrypt(?:ed|ion)"
    + TAIL,
    r"your security code with .{1,60} changed(?:\. tap to learn more)?",
    r"diese nachricht wurde gelöscht|du hast diese nachricht gelöscht",
    r"verpasster (?:gruppen-?)?(?:sprach|video)anruf",
    rf"nachrichten und anrufe sind ende-zu-ende-verschlüsselt{TAIL}",
    r"ce message a été (?:supprimé|effacé)|vous avez (?:supprimé|effacé) ce message",
    r"appel (?:vocal|vidéo)(?: de groupe)? manqué",
    rf"les messages et les appels sont chiffrés de bout en bout{TAIL}",
    r"(?:se eliminó este mensaje|este mensaje fue eliminado|eliminaste este mensaje)",
    r"(?:video)?llamada (?:de voz |de vídeo |grupal )?perdida",
    rf"los mensajes y las llamadas están cifrados de extremo a extremo{TAIL}",
    r"questo messaggio è stato eliminato|hai eliminato questo messaggio",
    r"(?:video)?chiamata (?:vocale |video )?persa",
    rf"i messaggi e le chiamate sono crittografati end-to-end{TAIL}",
    r"(?:esta )?mensagem (?:foi )?apagada|(?:você )?apagou esta mensagem",
    r"(?:chamada|ligação) (?:de voz|de vídeo) perdida",
    rf"as mensagens e as (?:chamadas|ligações) são protegidas com a criptografia de ponta a ponta{TAIL}",
    r"dit bericht is verwijderd|(?:je|u) hebt dit bericht verwijderd",
    r"gemiste (?:groeps)?(?:spraak-?|video-?)oproep",
    rf"berichten en oproepen worden end-to-end versleuteld{TAIL}",
)
CHARS_MAX: Final = 300  # length of a placeholder line
FILE: Final = r"[^<>:()\n]{1,200}\.[0-9A-Za-z]{2,5}"
ATTACHED: Final = (
    rf"<(?:attached|anhang|pièce jointe|adjunto|allegato|anexado|bijlage)\s?: (?P<name>{FILE})>|"
    rf"^(?P<first>{FILE}) \((?:file attached|datei angehängt|fichier joint|archivo adjunto|file allegato|"
    r"arquivo anexado|bestand bijgevoegd)\)$"
)
EDITED: Final = (
    r" ?\u200e?<(?:this message was edited|diese nachricht wurde bearbeitet|ce message a été modifié|"
    r"se editó este mensaje|questo messaggio è stato modificato|mensagem editada|"
    r"dit bericht is bewerkt)\.?>$"
)


@cache
def compile_forms() -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a line, a file and an edit, compiled at first use: most commands need none."""
    forms = (*(rf"<?{what} (?:{how})>?" for what, how in MISSING), *MESSAGES)
    patterns = (rf"(?:{'|'.join(forms)})\.?", ATTACHED, EDITED)
    return tuple(re.compile(it, re.IGNORECASE | re.MULTILINE) for it in patterns)


def drop_placeholders(text: str) -> str:
    """Remove placeholder lines and marks of edits from a text; keep the names of attached files."""
    line_form, file_form, edit_form = compile_forms()
    lines = (
        line
        for line in text.split("\n")
        if len(line) > CHARS_MAX or not line_form.fullmatch(line.strip("\u200e\u200f \r\t"))
    )
    return file_form.sub(show_file, edit_form.sub("", "\n".join(lines)))


def show_file(found: re.Match[str]) -> str:
    return f"[attachment: {found['name'] or found['first']}]"
