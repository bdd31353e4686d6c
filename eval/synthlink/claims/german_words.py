"""English for common German words: the English word of each row, then German ones.

General vocabulary of history, science and business, not of any question. Rows of verbs have finite
forms and participles; nouns and adjectives are without endings, several rows a line. Umlauts are
written as in ``fold_german``.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_VERBS: Final = """
built baute bauten gebaut errichtete errichteten errichtet
made machte machten gemacht
developed entwickelte entwickelten entwickelt
invented erfand erfanden erfunden
devised ersann ersannen ersonnen entwarf entwarfen entworfen entwickelte entwickelten entwickelt
found fand fanden gefunden
discovered entdeckte entdeckten entdeckt
proved bewies bewiesen
showed zeigte zeigten gezeigt
noticed bemerkte bemerkten bemerkt
saw sah sahen gesehen
published veröffentlichte veröffentlichten veröffentlicht
appeared erschien erschienen
wrote schrieb schrieben geschrieben
proposed vorgeschlagen
founded gründete gründeten gegründet
opened eröffnete eröffneten eröffnet öffnete öffneten
closed schloss schlossen geschlossen
launched startete starteten gestartet
introduced eingeführt
began begann begannen begonnen
ended endete endeten beendete beendeten beendet
sold verkaufte verkauften verkauft
bought kaufte kauften gekauft
brought brachte brachten gebracht
carried trug trugen getragen transportierte transportierten transportiert beförderte befördert
received erhielt erhielten bekam bekamen
won gewann gewannen gewonnen
gave gab gaben gegeben
offered bot boten
took nahm nahmen genommen
led führte führten geführt leitete leiteten geleitet angeführt
caused verursachte verursachten verursacht ausgelöst
enabled ermöglichte ermöglichten ermöglicht
reached erreichte erreichten erreicht
came kam kamen gekommen gelangte gelangten
went ging gingen gegangen
fell fiel fielen gefallen sank sanken
rose stieg stiegen gestiegen
increased erhöhte erhöhten erhöht
reduced senkte senkten gesenkt verringerte verringerten verringert
replaced ersetzte ersetzten ersetzt
displaced verdrängte verdrängten verdrängt
destroyed zerstörte zerstörten zerstört
killed tötete töteten getötet
died starb starben gestorben
adopted angenommen
passed verabschiedete verabschiedeten verabschiedet
signed unterzeichnete unterzeichneten unterzeichnet unterschrieb unterschrieben
banned verbot verboten
limited begrenzte begrenzten begrenzt begrenzen beschränkte beschränkt begrenzt
limits begrenzt begrenzen beschränkt
became wurde wurden
joined verband verbanden verbunden verbindet
connected verband
granted gewährte gewährten
placed erteilte erteilten erteilt
forced zwang zwangen gezwungen
defeated besiegte besiegten besiegt
conquered eroberte eroberten erobert
derived beruht beruhte basiert basierte
doubled verdoppelte verdoppelten verdoppelt
isolated isolierte isolierten isoliert
described beschrieb beschrieben
recognised erkannte erkannten erkannt deutete deuteten gedeutet
explained erklärte erklärten erklärt
predicted sagte vorhergesagt vorausgesagt
completed vollendete vollendeten vollendet
finished beendete
organised organisierte organisierten organisiert
persuaded überzeugte überzeugten überzeugt
used nutzte nutzten genutzt verwendete verwendeten verwendet benutzte benutzten
use nutzen verwenden verbrauchen benutzen brauchen
purified reinigte reinigten gereinigt
produced produzierte produzierten produziert
discharged leitete leiteten
measured gemessen
recorded registrierte registrierten registriert aufgezeichnet
detected wies nachgewiesen
warned warnte warnten gewarnt
reported meldete meldeten gemeldet berichtete berichteten
approved zugelassen genehmigte genehmigt
agreed vereinbarte vereinbarten vereinbart
ratified ratifizierte ratifizierten ratifiziert
followed folgte folgten gefolgt
spread verbreitete verbreiteten verbreitet
sailed segelte segelten fuhr fuhren
crossed überquerte überquerten überquert
landed landete landeten gelandet
arrested verhaftete verhaftet
refused weigerte
split spaltete zerlegte zerlegten zerlegt
diffract beugen
destroy zerstören
"""
_SEPARABLE: Final = """
worked_out klarte_auf klarten_auf
made stellte_her stellten_her
established setzte_ein setzten_ein richtete_ein richteten_ein
collapsed brach_zusammen brachen_zusammen
led fuhrte_an fuhrten_an
caused loste_aus losten_aus rief_hervor riefen_hervor
increased nahm_zu nahmen_zu stieg_an
decreased nahm_ab nahmen_ab
proposed schlug_vor schlugen_vor
predicted sagte_voraus sagten_voraus sagte_vorher
introduced stellte_vor fuhrte_ein fuhrten_ein stellten_vor
completed schloss_ab
destroyed rottete_aus
descended stammte_ab stammten_ab
descend stammt_ab stammen_ab
discovered wies_nach
recorded zeichnete_auf zeichneten_auf
found fand_heraus fanden_heraus
became_known wurde_bekannt
took_part nahm_teil nahmen_teil
"""
_NOUNS: Final = """
law gesetz; act gesetz; commission kommission; work arbeit;
worker arbeiter arbeiterin arbeiterinnen; labour arbeitskraft arbeitskrafte; wage lohn lohne;
price preis; cost kosten; trade handel; port hafen; dock dock; ship schiff; fleet flotte;
clock uhr; watch armbanduhr uhr; time zeit; year jahr; week woche; month monat; day tag;
night nacht; century jahrhundert; decade jahrzehnt; country land; state staat; city stadt;
coast kuste;
sea meer see; lake see; river fluss; bay bucht; island insel; field feld; soil boden; earth erde;
wind wind; drought durre; grassland grasland; forest wald; bird vogel; fish fisch;
shellfish muschel muscheln; snake schlange; spider spinne; tree baum; plant pflanze; seed samen;
seedling setzling; rubber kautschuk; cotton baumwolle; grain getreide; meat fleisch;
lamb lammfleisch; salt salz; opium opium; dye farbstoff; smoke rauch; coal kohle; gas gas;
air luft; water wasser; ice eis; fire brand feuer; factory fabrik; firm firma unternehmen;
industry industrie; machine maschine; engine motor; assembly_line fliessband;
calculator rechner taschenrechner; computer computer rechner; order auftrag; contest wettbewerb;
method verfahren methode; theory theorie; idea idee; discovery entdeckung; invention erfindung;
experiment versuch; light licht; wave welle; electricity strom elektrizitat; battery batterie;
pile saule; crystal kristall; ray strahl strahlen; structure struktur; number zahl; book buch;
novel roman; paper aufsatz; newspaper zeitung; report bericht; agreement abkommen;
treaty vertrag; convention ubereinkommen; protocol protokoll; war krieg; peace frieden;
revolution revolution; revolt aufstand; rising aufstand; riot unruhe unruhen; strike streik;
march marsch; campaign kampagne feldzug; raid razzia; resentment unmut; government regierung;
parliament parlament; congress kongress; court gericht gerichtshof; president prasident;
king konig; queen konigin; minister minister; people menschen leute volk; woman frau; man mann;
child kind; soldier soldat; army armee; colony kolonie; slave sklave; slavery sklaverei;
planter pflanzer; plantation plantage; farmer bauer bauern farmer;
scientist wissenschaftler forscher; physicist physiker; chemist chemiker; patient patient;
disease krankheit; drug medikament arzneimittel; vaccine impfstoff; cell zelle; blood blut;
stem stamm; mould schimmelpilz; bacterium bakterium; bacteria bakterien;
death tod todesfall toten; famine hungersnot; potato kartoffel; plague pest;
temperature temperatur; satellite satellit; rocket rakete; telescope teleskop; antenna antenne;
noise rauschen; background hintergrund; radiation strahlung; prize preis; Nobel_Prize nobelpreis;
chemistry chemie; physics physik; medicine medizin; literature literatur; circuit schaltkreis;
canal kanal; railway eisenbahn; bridge brucke; school schule; university universitat;
source quelle; spring quelle; birthday geburtstag; border grenze; reward belohnung;
rule regel vorschrift; standard standard; use nutzung verwendung; release freisetzung;
export export ausfuhr; import einfuhr; market markt; growth wachstum; end ende; beginning anfang;
force kraft; model vorbild modell; immune_system immunsystem; treatment behandlung;
scissors schere; filament_lamp gluhlampe; phosphor leuchtstoff; led leuchtdiode;
gallium_nitride galliumnitrid; ocean_floor meeresboden; ozone ozon; mercury quecksilber;
carbon kohlenstoff; hydrogen wasserstoff; oxygen sauerstoff; potassium kalium; sodium natrium;
nitrogen stickstoff; iron eisen; steel stahl; silver silber; gold gold; safety sicherheit
"""
_ADJECTIVES: Final = """
large gross; small klein; new neu; old alt; first erste; last letzte; bright hell; blue blau;
white weiss; yellow gelb; black schwarz; red rot; green grun; long lang; short kurz;
high hoch hohe hohen; low niedrig; cold kalt; warm warm; hot heiss; strong stark; weak schwach;
poor arm; rich reich; cheap billig billiger; natural naturlich; artificial kunstlich; free frei;
bare ungeschutzt kahl; scarce knapp; commercial kommerziell; leading fuhrend fuhrende;
yearly jahrlich; several mehrere; many viele; most meiste meisten; other andere; others andere;
german deutsch; french franzosisch; british britisch; english englisch; american amerikanisch;
swiss schweizer; japanese japanisch; indian indisch; chinese chinesisch;
dutch niederlandisch hollandisch; spanish spanisch; italian italienisch; russian russisch;
programmable programmierbar; less weniger; far weit; officially offiziell
"""
_NAMES: Final = """
France Frankreich; Germany Deutschland; Britain Großbritannien; England England; Ireland Irland;
Switzerland Schweiz; Spain Spanien; Italy Italien; Egypt Ägypten; India Indien; Japan Japan;
Brazil Brasilien; America Amerika; Europe Europa; Asia Asien; Africa Afrika;
Australia Australien; Poland Polen; Hungary Ungarn; Burma Birma; Russia Russland;
Normandy Normandie; Bengal Bengalen; Moon Mond; Sun Sonne; January Januar; February Februar;
March März; May Mai; June Juni; July Juli; October Oktober; December Dezember
"""
_PREPOSITIONS: Final = """
at bei beim am
in in im
on auf
from aus vom ab seit auf
of von
to nach zu zum zur an
with mit
for für
in für
by durch
into ins
under unter
through durch
before vor
after nach
over über
until bis
against gegen
without ohne
as als
"""


def fold_german(word: str) -> str:
    """Returns a word in lower case without umlauts: "Küste" → "kuste"."""
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _read_rows(rows: str) -> dict[str, tuple[str, ...]]:
    """Returns German word → its English words, each with its parts joined by an underscore."""
    meanings: dict[str, tuple[str, ...]] = {}
    for row in filter(str.strip, re.split(r"[;\n]", rows)):
        english, *german = row.split()
        for word in map(fold_german, german):
            meanings[word] = (*meanings.get(word, ()), english)
    return meanings


VERBS: Final = _read_rows(_VERBS)
"""Form of a verb → its English words."""
SEPARABLE: Final = _read_rows(_SEPARABLE)
"""Form of a verb and its particle, joined by an underscore → its English words."""
OTHERS: Final = _read_rows(_NOUNS) | _read_rows(_ADJECTIVES)
"""Noun or adjective, without ending → its English words."""
NAMES: Final = _read_rows(_NAMES)
"""Name → its English form."""
PREPOSITIONS: Final = _read_rows(_PREPOSITIONS)
"""Preposition → its English words."""
PARTICLES: Final = frozenset(entry.partition("_")[2] for entry in SEPARABLE)
"""Words at the end of a sentence that belong to its verb."""
IDIOMS: Final = (
    (("brachte", "brachten"), ("auf", "den", "markt"), "put", ("on_sale", "on_the_market")),
    (("setzte", "setzten"), ("in", "kraft"), "put", ("into_force",)),
    (("rief", "riefen"), ("ins", "leben"), "founded", ("",)),
    (("kam", "kamen"), ("auf", "den", "markt"), "appeared", ("",)),
)
"""Forms of a verb, the words that go with it, and the English verb and words for both."""
